package plugin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/internal/backup/outcome"
	"example.com/nginx-operator/internal/plugin/edits"
	"example.com/nginx-operator/internal/plugin/screen"
	"example.com/nginx-operator/internal/plugin/view"
)

func newBackups(c *cluster) *cobra.Command {
	var all bool
	out := &output{}
	cmd := &cobra.Command{
		Use:   "backups [NAME]",
		Short: "List backups, the newest first",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			connected, namespace, err := c.connect()
			if err != nil {
				return err
			}
			if all {
				namespace = ""
			}
			application := ""
			if len(args) == 1 {
				application = args[0]
			}
			found, err := view.ReadBackups(cmd.Context(), connected, namespace, application)
			if err != nil {
				return err
			}
			names := make([]string, 0, len(found))
			for i := range found {
				names = append(names, "nginxbackup."+backupv1alpha1.GroupVersion.Group+"/"+found[i].Name)
			}
			return out.write(cmd, &backupv1alpha1.NginxBackupList{Items: found}, names, func(p screen.Printer) error { return p.Backups(found, all) })
		},
	}
	cmd.Flags().BoolVarP(&all, "all-namespaces", "A", false, "list the backups of all namespaces")
	out.addFlag(cmd)
	return cmd
}

// job is a command that creates an object whose work is to be done: a backup or a restore.
type job struct {
	wait, dryRun bool
	timeout      time.Duration
}

func (j *job) addFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&j.wait, "wait", false, "wait until it is done, and show the progress")
	cmd.Flags().DurationVar(&j.timeout, "timeout", defaultTimeout, "how long --wait waits")
}

// create creates the object, and waits for it if the user wants that. conditions returns those of the object.
func (j *job) create(cmd *cobra.Command, c client.WithWatch, object client.Object, list client.ObjectList, conditions func(client.Object) []metav1.Condition) error {
	options, suffix := []client.CreateOption{client.FieldOwner(edits.FieldOwner)}, ""
	if j.dryRun {
		options, suffix = append(options, client.DryRunAll), " (dry run)"
	}
	if err := c.Create(cmd.Context(), object, options...); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s created%s\n", object.GetName(), suffix); err != nil || !j.wait || j.dryRun {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), j.timeout)
	defer cancel()
	said := ""
	err := waitUntil(ctx, c, list, object, func(now client.Object) (bool, error) {
		completed := meta.FindStatusCondition(conditions(now), backupv1alpha1.ConditionCompleted)
		if completed == nil {
			return false, nil
		}
		if text := completed.Reason + ": " + completed.Message; text != said {
			said = text
			if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\n", object.GetName(), screen.Safe(text)); err != nil {
				return false, err
			}
		}
		if completed.Status != metav1.ConditionTrue && outcome.Final(completed.Reason) {
			return false, fmt.Errorf("%s cannot be completed: see above: %w", object.GetName(), errNotReady)
		}
		return completed.Status == metav1.ConditionTrue, nil
	})
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s has not finished within %s, and continues in the cluster: %w", object.GetName(), j.timeout, errNotReady)
	}
	return err
}

func newBackup(c *cluster) *cobra.Command {
	j := &job{}
	var destination, secret string
	cmd := &cobra.Command{
		Use:   "backup NAME",
		Short: "Make a backup",
		Long:  "Make a backup, by default where a policy keeps those of the application, or else where the last one is.",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			connected, nginx, err := c.application(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			spec := &backupv1alpha1.NginxBackupSpec{Destination: backupv1alpha1.Destination{URL: destination}}
			if secret != "" {
				spec.Destination.Secret = &backupv1alpha1.SecretReference{Name: secret}
			}
			if destination == "" {
				if spec, err = view.UsualDestination(cmd.Context(), connected, nginx); err != nil {
					return err
				}
			}
			if spec == nil {
				return fmt.Errorf("no policy selects %s and it has no backup yet: say where with --destination, such as pvc://backups or s3://bucket/folder", nginx.Name)
			}
			spec.Target.Name = nginx.Name
			backup := &backupv1alpha1.NginxBackup{ObjectMeta: metav1.ObjectMeta{Namespace: nginx.Namespace, Name: nameNow(nginx.Name)}, Spec: *spec}
			return j.create(cmd, connected, backup, &backupv1alpha1.NginxBackupList{}, func(o client.Object) []metav1.Condition {
				if b, ok := o.(*backupv1alpha1.NginxBackup); ok {
					return b.Status.Conditions
				}
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&destination, "destination", "", "where to keep it, such as pvc://claim/folder or s3://bucket/folder")
	cmd.Flags().StringVar(&secret, "secret", "", "the Secret with the credentials of --destination")
	cmd.Flags().BoolVar(&j.dryRun, "dry-run", false, "have the API server check it, and make none")
	j.addFlags(cmd)
	return cmd
}

// nameNow returns the name of an object that an application gets now.
func nameNow(application string) string {
	return application + "-" + time.Now().UTC().Format("060102-150405")
}

func newRestore(c *cluster) *cobra.Command {
	j := &job{}
	var target string
	var overwrite, dryRun bool
	cmd := &cobra.Command{
		Use:   "restore BACKUP",
		Short: "Restore an application from a backup",
		Long: "Restore an application from a backup of `kubectl nginx backups`. Without --overwrite, nothing is changed if something exists with other content.\n\n" +
			"--dry-run lists the changes that it would make.",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			connected, namespace, err := c.connect()
			if err != nil {
				return err
			}
			if err := connected.Get(cmd.Context(), client.ObjectKey{Namespace: namespace, Name: args[0]}, &backupv1alpha1.NginxBackup{}); apierrors.IsNotFound(err) {
				return fmt.Errorf("there is no backup %s in namespace %s: kubectl nginx backups -A lists all: %w", args[0], namespace, err)
			} else if err != nil {
				return err
			}
			restore := &backupv1alpha1.NginxRestore{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: nameNow("restore")}}
			restore.Spec.Backup = &backupv1alpha1.BackupReference{Name: args[0]}
			if target != "" {
				restore.Spec.Target = &backupv1alpha1.TargetReference{Name: target}
			}
			if overwrite {
				restore.Spec.OnConflict = backupv1alpha1.ConflictOverwrite
			}
			if dryRun {
				restore.Spec.DryRun = new(true)
				j.wait = true
			}
			err = j.create(cmd, connected, restore, &backupv1alpha1.NginxRestoreList{}, func(o client.Object) []metav1.Condition {
				if r, ok := o.(*backupv1alpha1.NginxRestore); ok {
					*restore = *r
					return r.Status.Conditions
				}
				return nil
			})
			if err != nil || !j.wait {
				return err
			}
			return printer(cmd).Changes(restore.Status.Changes)
		},
	}
	cmd.Flags().StringVar(&target, "target", "", "the name of the restored application; by default its own")
	cmd.Flags().BoolVar(&overwrite, "overwrite", false, "replace what exists with other content")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "list the changes, and make none")
	j.addFlags(cmd)
	return cmd
}
