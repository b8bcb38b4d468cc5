package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"example.com/nginx-operator/test/internal/audit"
	"example.com/nginx-operator/test/internal/figure"
	"example.com/nginx-operator/test/internal/process"
	"example.com/nginx-operator/test/measure/internal/privilege"
)

// measurePrivileges compares the permissions of the operator's account with all requests since it
// was installed. Run it after the tests, which must have caused everything that the operator can
// do.
func measurePrivileges(ctx context.Context, _ *session) ([]figure.Figure, error) {
	c, err := openCluster(ctx)
	if err != nil {
		return nil, err
	}
	account := &corev1.ServiceAccount{}
	if err := c.client.Get(ctx, process.Account, account); err != nil {
		return nil, err
	}
	installed := account.CreationTimestamp.Time
	granted, err := c.permissions(ctx)
	if err != nil {
		return nil, err
	}
	requests, err := c.log.Requests(audit.Filter{User: c.user, Since: installed})
	if err != nil {
		return nil, err
	}
	unused := privilege.Unused(granted, requests)
	details, err := c.caveat(installed)
	if err != nil {
		return nil, err
	}
	for _, g := range unused {
		details = append(details, g.String())
	}
	refusals := privilege.Forbidden(requests)
	return []figure.Figure{
		figure.Info("requests since the installation", float64(len(requests)), "requests"),
		figure.Info("granted", float64(len(granted)), "rights"),
		figure.Info("used", float64(len(granted)-len(unused)), "rights"),
		figure.HasGoal("unused", float64(len(unused)), "rights", figure.AtMost(0), details...),
		figure.HasGoal("forbidden", float64(len(refusals.Unauthorized)), "requests", figure.AtMost(0), privilege.Messages(refusals.Unauthorized)...),
		figure.Info("rejected by quotas and policies", float64(len(refusals.Admission)), "requests", privilege.Messages(refusals.Admission)...),
	}, nil
}

// caveat returns a note if the audit log does not go back far enough.
func (c *cluster) caveat(installed time.Time) ([]string, error) {
	start, err := c.log.Start()
	if err != nil {
		return nil, err
	}
	if start.Before(installed) {
		return nil, nil
	}
	return []string{fmt.Sprintf("(the audit log begins at %s, after the installation at %s: permissions used only before then appear unused)",
		start.Format(time.RFC3339), installed.Format(time.RFC3339))}, nil
}

// permissions returns the permissions that roles grant to the operator's account itself. Those of every
// authenticated account do not come from the operator.
func (c *cluster) permissions(ctx context.Context) ([]privilege.Permission, error) {
	var clusterBindings rbacv1.ClusterRoleBindingList
	var bindings rbacv1.RoleBindingList
	if err := c.client.List(ctx, &clusterBindings); err != nil {
		return nil, err
	}
	if err := c.client.List(ctx, &bindings); err != nil {
		return nil, err
	}
	for _, b := range clusterBindings.Items {
		// Treat it as a RoleBinding for all namespaces.
		bindings.Items = append(bindings.Items, rbacv1.RoleBinding{Subjects: b.Subjects, RoleRef: b.RoleRef})
	}
	var permissions []privilege.Permission
	for _, b := range bindings.Items {
		if !privilege.Binds(b.Subjects, process.Account.Namespace, process.Account.Name) {
			continue
		}
		rules, err := c.rules(ctx, b.Namespace, b.RoleRef)
		if err != nil {
			return nil, err
		}
		permissions = append(permissions, privilege.Permissions(b.Namespace, rules)...)
	}
	return privilege.Unique(permissions), nil
}

func (c *cluster) rules(ctx context.Context, namespace string, ref rbacv1.RoleRef) ([]rbacv1.PolicyRule, error) {
	if ref.Kind == "Role" {
		role := &rbacv1.Role{}
		role.Namespace, role.Name = namespace, ref.Name
		err := c.client.Get(ctx, client.ObjectKeyFromObject(role), role)
		return role.Rules, err
	}
	role := &rbacv1.ClusterRole{}
	role.Name = ref.Name
	err := c.client.Get(ctx, client.ObjectKeyFromObject(role), role)
	return role.Rules, err
}
