package plugin

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	backupv1alpha1 "example.com/nginx-operator/api/backup/v1alpha1"
	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/nginx/history"
	"example.com/nginx-operator/internal/plugin/screen"
	"example.com/nginx-operator/internal/plugin/view"
)

const (
	// completionTimeout bounds how long the shell waits.
	completionTimeout = 2 * time.Second
	// completionPage is the number of names in one request, and maxCompletions that of names that are read.
	completionPage = 500
	maxCompletions = 10000
)

// completion returns the values of an argument; args are the arguments before it.
type completion func(ctx context.Context, c client.Client, namespace string, args []string) ([]cobra.Completion, error)

// completions are the arguments that are completed, by their word in the usage of a command.
var completions = map[string]completion{"NAME": completeNames, "REVISION": completeRevisions, "GATE": completeGates, "BACKUP": completeBackups}

// addCompletions completes the arguments of a command and of those below it, and the namespace.
func addCompletions(cmd *cobra.Command, c *cluster) error {
	complete(cmd, c)
	return cmd.RegisterFlagCompletionFunc("namespace", func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return c.completed(cmd.Context(), completeNamespaces, args, typed), cobra.ShellCompDirectiveNoFileComp
	})
}

func complete(cmd *cobra.Command, c *cluster) {
	words := strings.Fields(cmd.Use)[1:]
	if len(words) > 0 {
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) >= len(words) {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			word := strings.Trim(words[len(args)], "[]")
			if strings.Contains(word, "|") {
				return beginning(strings.Split(word, "|"), typed), cobra.ShellCompDirectiveNoFileComp
			}
			return c.completed(cmd.Context(), completions[word], args, typed), cobra.ShellCompDirectiveNoFileComp
		}
	}
	for _, below := range cmd.Commands() {
		complete(below, c)
	}
}

// completed returns the values that begin with what is typed. It returns none if the cluster does not answer, because an
// error would appear in the middle of what the user types.
func (c *cluster) completed(ctx context.Context, values completion, args []string, typed string) []cobra.Completion {
	if values == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	connected, namespace, err := c.connectWith(func(config *rest.Config) {
		config.Timeout, config.WarningHandler = completionTimeout, rest.NoWarnings{}
	})
	if err != nil {
		return nil
	}
	found, err := values(ctx, connected, namespace, args)
	if err != nil && len(found) == 0 {
		return nil
	}
	return beginning(found, typed)
}

// beginning returns the values that begin with a text, without characters that a terminal would obey.
func beginning(values []cobra.Completion, typed string) []cobra.Completion {
	var matching []cobra.Completion
	for _, value := range values {
		name, description, described := strings.Cut(value, "\t")
		name = screen.Safe(name)
		if !strings.HasPrefix(name, typed) {
			continue
		}
		if described {
			name = cobra.CompletionWithDesc(name, screen.Safe(description))
		}
		matching = append(matching, name)
	}
	return matching
}

func completeNames(ctx context.Context, c client.Client, namespace string, _ []string) ([]cobra.Completion, error) {
	return listNames(ctx, c, v1alpha2.GroupVersion.WithKind(v1alpha2.Kind), client.InNamespace(namespace))
}

func completeBackups(ctx context.Context, c client.Client, namespace string, _ []string) ([]cobra.Completion, error) {
	return listNames(ctx, c, backupv1alpha1.GroupVersion.WithKind("NginxBackup"), client.InNamespace(namespace))
}

func completeNamespaces(ctx context.Context, c client.Client, _ string, _ []string) ([]cobra.Completion, error) {
	return listNames(ctx, c, corev1.SchemeGroupVersion.WithKind("Namespace"))
}

// listNames returns the names of objects, at most maxCompletions.
func listNames(ctx context.Context, c client.Client, kind schema.GroupVersionKind, options ...client.ListOption) ([]cobra.Completion, error) {
	var names []cobra.Completion
	page := &metav1.PartialObjectMetadataList{}
	for {
		next := append(options, client.Limit(completionPage), client.Continue(page.Continue))
		page = &metav1.PartialObjectMetadataList{}
		page.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
		if err := c.List(ctx, page, next...); err != nil {
			return names, client.IgnoreNotFound(err)
		}
		for i := range page.Items {
			names = append(names, page.Items[i].Name)
		}
		if page.Continue == "" || len(names) >= maxCompletions {
			return names, nil
		}
	}
}

// completeRevisions returns the revisions of an application, with what a user knows them by.
func completeRevisions(ctx context.Context, c client.Client, namespace string, args []string) ([]cobra.Completion, error) {
	nginx, err := find(ctx, c, client.ObjectKey{Namespace: namespace, Name: args[0]})
	if err != nil {
		return nil, err
	}
	revisions, err := view.ReadHistory(ctx, c, nginx)
	return describeRevisions(revisions), err
}

func describeRevisions(revisions history.History) []cobra.Completion {
	var found []cobra.Completion
	for _, r := range revisions {
		found = append(found, cobra.CompletionWithDesc(strconv.FormatInt(r.Number, 10), r.Image+", "+r.Cause))
	}
	return found
}

// completeGates returns the gates that the rollout of an application waits for.
func completeGates(ctx context.Context, c client.Client, namespace string, args []string) ([]cobra.Completion, error) {
	nginx, err := find(ctx, c, client.ObjectKey{Namespace: namespace, Name: args[0]})
	if err != nil || nginx.Status.WaitingRollout == nil {
		return nil, err
	}
	return nginx.Status.WaitingRollout.Gates, nil
}
