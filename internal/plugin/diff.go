package plugin

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"example.com/nginx-operator/internal/plugin/view"
)

func newDiff(c *cluster) *cobra.Command {
	return &cobra.Command{
		Use:   "diff NAME REVISION [REVISION]",
		Short: "Show how two revisions differ: the spec and the configuration",
		Long:  "Show how two revisions of `kubectl nginx history` differ: the spec and the configuration. Without the second one, the first is compared with the newest.",
		Args:  cobra.RangeArgs(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			var numbers [2]int64
			for i, text := range args[1:] {
				number, err := strconv.ParseInt(text, 10, 64)
				if err != nil || number < 1 {
					return fmt.Errorf("REVISION is %q: set it to a number that `kubectl nginx history %s` lists", text, args[0])
				}
				numbers[i] = number
			}
			connected, nginx, err := c.application(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			var revisions [2]view.Config
			for i, number := range numbers {
				if revisions[i], err = view.ReadRevision(cmd.Context(), connected, nginx, number); err != nil {
					return err
				}
			}
			return printer(cmd).Diff(revisions[0], revisions[1])
		},
	}
}
