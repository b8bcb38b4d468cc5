package view

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"example.com/nginx-operator/api/v1alpha2"
	"example.com/nginx-operator/internal/instanceapi"
	"example.com/nginx-operator/internal/nginx/observe"
)

// Certificate is a certificate as the pods of an application use it.
type Certificate struct {
	Namespace   string     `json:"namespace"`
	Application string     `json:"application"`
	Name        string     `json:"name"`
	Secret      string     `json:"secret,omitempty"`
	NotAfter    *time.Time `json:"notAfter,omitempty"`
	Serial      string     `json:"serial,omitempty"`
	// Issuer, DNSNames, Served and Problem are those that one pod reports.
	Issuer   string   `json:"issuer,omitempty"`
	DNSNames []string `json:"dnsNames,omitempty"`
	// Served are the addresses where nginx uses it.
	Served  []string `json:"served,omitempty"`
	Problem string   `json:"problem,omitempty"`
}

// ReadCertificates returns the certificates of applications, the one that expires first before the others. pods are those of the
// applications; a ready one of each says where they are used. An error that is Forbidden comes with all that the applications say themselves.
func ReadCertificates(ctx context.Context, measurer Measurer, applications []v1alpha2.NginxOperator, pods []corev1.Pod) ([]Certificate, error) {
	// Scripts read no certificates as [], and not as null.
	all := []Certificate{}
	var chosen []corev1.Pod
	for i := range applications {
		n := &applications[i]
		for _, entry := range n.Spec.TLS {
			all = append(all, declared(n, &entry))
		}
		at := slices.IndexFunc(pods, func(p corev1.Pod) bool { return ofApplication(&p, n) && observe.Ready(&p) })
		if len(n.Spec.TLS) > 0 && at >= 0 {
			chosen = append(chosen, pods[at])
		}
	}
	reports, err := each(ctx, chosen, func(ctx context.Context, pod *corev1.Pod) (*instanceapi.Status, error) {
		text, err := measure(ctx, measurer, pod, instanceapi.PathStatus, nil)
		if err != nil {
			return nil, onlyForbidden(err)
		}
		status, err := instanceapi.DecodeStatus(text)
		if err != nil {
			return nil, fmt.Errorf("read the status of pod %s: %w", pod.Name, err)
		}
		return &status, nil
	})
	for i, report := range reports {
		if report != nil {
			complete(all, &chosen[i], report)
		}
	}
	slices.SortStableFunc(all, byExpiry)
	return all, err
}

func ofApplication(pod *corev1.Pod, n *v1alpha2.NginxOperator) bool {
	return pod.Namespace == n.Namespace && pod.Labels[v1alpha2.LabelNginxOperator] == n.Name
}

// declared returns an entry of spec.tls with its status.
func declared(n *v1alpha2.NginxOperator, entry *v1alpha2.Certificate) Certificate {
	c := Certificate{Namespace: n.Namespace, Application: n.Name, Name: entry.Name, Secret: entry.SecretName}
	for _, s := range n.Status.Certificates {
		if s.Name == entry.Name {
			c.Serial = s.SerialNumber
			if s.NotAfter != nil {
				c.NotAfter = &s.NotAfter.Time
			}
		}
	}
	return c
}

// complete adds what a pod reports.
func complete(all []Certificate, pod *corev1.Pod, report *instanceapi.Status) {
	for i := range all {
		c := &all[i]
		if c.Namespace != pod.Namespace || c.Application != pod.Labels[v1alpha2.LabelNginxOperator] {
			continue
		}
		for _, r := range report.Certificates {
			if r.Name == c.Name {
				c.Issuer, c.DNSNames, c.Served, c.Problem = r.Issuer, r.DNSNames, r.Listeners, r.Error
			}
		}
	}
}

// byExpiry has certificates that cannot be used first, because they matter most.
func byExpiry(a, b Certificate) int {
	expiry := func(c Certificate) time.Time {
		if c.NotAfter == nil {
			return time.Time{}
		}
		return *c.NotAfter
	}
	return cmp.Or(expiry(a).Compare(expiry(b)), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Application, b.Application), cmp.Compare(a.Name, b.Name))
}
