package plugin

import (
	"fmt"

	"github.com/spf13/cobra"
)

// defaultMostPods bounds the pods that one command asks: each costs the API server a connection to the pod.
const defaultMostPods = 500

// trafficFlags sort and filter by traffic.
type trafficFlags struct {
	sortBy string
	// minRequests is a number per second, minErrors a percentage of the requests.
	minRequests, minErrors float64
	mostPods               int
}

// addFlags adds the flags to a command; sortBy is the default order, and orders are all.
func (f *trafficFlags) addFlags(cmd *cobra.Command, sortBy, orders string) {
	cmd.Flags().StringVar(&f.sortBy, "sort-by", sortBy, "sort by "+orders)
	cmd.Flags().Float64Var(&f.minRequests, "min-requests", 0, "show only what gets at least as many requests a second")
	cmd.Flags().Float64Var(&f.minErrors, "min-errors", 0, "show only what answers at least this percentage of its requests with 5xx, such as 0.5")
	cmd.Flags().IntVar(&f.mostPods, "max-pods", defaultMostPods, "ask at most so many pods of several applications for their traffic")
}

// check refuses values that no traffic can have. No comparison with NaN is true, so the conditions are negated.
func (f *trafficFlags) check() error {
	switch {
	case !(f.minRequests >= 0):
		return fmt.Errorf("--min-requests is %g: set it to a number of requests a second from 0", f.minRequests)
	case !(f.minErrors >= 0 && f.minErrors <= 100):
		return fmt.Errorf("--min-errors is %g: set it to a percentage from 0 to 100", f.minErrors)
	case f.mostPods < 1:
		return fmt.Errorf("--max-pods is %d: set it to a number from 1", f.mostPods)
	}
	return nil
}

// filters reports whether only some traffic is shown.
func (f *trafficFlags) filters() bool { return f.minRequests > 0 || f.minErrors > 0 }

// keeps reports whether a traffic is shown. errorShare is from 0 to 1.
func (f *trafficFlags) keeps(requests, errorShare float64) bool {
	return requests >= f.minRequests && 100*errorShare >= f.minErrors
}
