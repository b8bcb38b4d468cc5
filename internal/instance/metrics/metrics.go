// Package metrics exports the state of an instance at the time of a scrape to Prometheus. Package
// requestlog counts the requests.
package metrics

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/nginx-operator/internal/instance/health"
	"example.com/nginx-operator/internal/instance/nginx"
	"example.com/nginx-operator/internal/instance/orders"
)

// scrapeTimeout bounds how long nginx may take to return its counters.
const scrapeTimeout = 2 * time.Second

// ticksPerSecond is the unit of the times in /proc/PID/stat: USER_HZ is 100 on all architectures
// that Go supports.
const ticksPerSecond = 100

// Collector collects the metrics of an instance.
type Collector struct {
	Doctor       *health.Doctor
	Orders       *orders.Receiver
	StatusClient nginx.StatusClient
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

var (
	info               = describe("nginx_instance_info", "Versions of the instance and of nginx.", "version", "nginx_version")
	ready              = describe("nginx_instance_ready", "1 if nginx serves a verified configuration on every declared port.")
	draining           = describe("nginx_instance_draining", "1 after the instance has received the signal to stop.")
	up                 = describe("nginx_up", "1 if nginx answered with its statistics.")
	revision           = describe("nginx_config_info", "Revisions of the configuration: served by nginx, mounted to boot from, and mounted to be tested.", "serving", "stable", "next")
	generation         = describe("nginx_config_generation", "Generation of the configuration that nginx's workers confirmed. Each reload increments it.")
	reloads            = describe("nginx_config_reloads_total", "Reloads of nginx by outcome, as confirmed by its workers.", "outcome")
	generations        = describe("nginx_old_worker_generations", "Generations of old worker processes that are still finishing their connections.")
	generationsEnded   = describe("nginx_old_worker_generations_ended_total", "Generations of old worker processes that were ended with their connections, because others had to be replaced.")
	workers            = describe("nginx_workers", "Worker processes by state.", "state")
	processes          = describe("nginx_processes", "Processes of nginx.")
	memory             = describe("nginx_resident_memory_bytes", "Resident memory of all processes of nginx. Shared memory is counted once for each process.")
	cpu                = describe("nginx_cpu_seconds_total", "CPU time used by the running processes of nginx.")
	expiry             = describe("nginx_certificate_expiry_timestamp_seconds", "Time at which the certificate that nginx uses expires, in seconds since the epoch.", "name")
	certificateRefused = describe("nginx_certificate_refused", "1 if the Secret has no certificate and key, or unusable ones.", "name")
	connections        = describe("nginx_connections", "Client connections by state. Waiting connections are idle.", "state")
	accepted           = describe("nginx_connections_accepted_total", "Accepted client connections.")
	handled            = describe("nginx_connections_handled_total", "Handled client connections. Fewer than accepted if worker_connections was too small.")
	ordersAccepted     = describe("nginx_instance_orders_accepted_total", "Orders of the operator that the instance accepted.")
	ordersRefused      = describe("nginx_instance_orders_refused_total", "Orders that the instance did not accept, by reason.", "reason")
	requests           = describe("nginx_requests_total", "Client requests, as counted by nginx.")
)

// Describe sends nothing, because the series depend on what nginx answers.
func (c *Collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(out chan<- prometheus.Metric) {
	checkup := c.Doctor.Examine()
	s := sink{out}
	s.gauge(info, 1, checkup.Version, checkup.NginxVersion)
	s.gauge(ready, flag(checkup.Ready))
	s.gauge(draining, flag(checkup.Draining))
	s.gauge(revision, 1, checkup.Serving, checkup.Stable, checkup.Next)
	s.gauge(generation, float64(checkup.Generation))
	s.counter(reloads, float64(checkup.Reloads.Succeeded), "succeeded")
	s.counter(reloads, float64(checkup.Reloads.Failed), "failed")
	s.gauge(generations, float64(checkup.OldGenerations))
	s.counter(generationsEnded, float64(checkup.EndedGenerations))
	s.gauge(workers, float64(checkup.Workers.Running), "running")
	s.gauge(workers, float64(checkup.Workers.Exiting), "exiting")
	s.gauge(processes, float64(checkup.Processes.Processes))
	s.gauge(memory, float64(checkup.Processes.Pages)*float64(os.Getpagesize()))
	s.counter(cpu, float64(checkup.Processes.Ticks)/ticksPerSecond)
	for _, certificate := range checkup.Certificates {
		s.gauge(certificateRefused, flag(certificate.Error != ""), certificate.Name)
		if certificate.NotAfter != nil {
			s.gauge(expiry, float64(certificate.NotAfter.Unix()), certificate.Name)
		}
	}
	c.orders(s)
	c.connections(s, checkup.Master != 0)
}

func (c *Collector) orders(s sink) {
	accepted, refused := c.Orders.Counts()
	s.counter(ordersAccepted, float64(accepted))
	for reason, n := range refused {
		s.counter(ordersRefused, float64(n), string(reason))
	}
}

func (c *Collector) connections(s sink, running bool) {
	if !running {
		s.gauge(up, 0)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	figures, err := c.StatusClient.Connections(ctx)
	s.gauge(up, flag(err == nil))
	if err != nil {
		slog.Debug("cannot read the statistics of nginx", "error", err)
		return
	}
	s.gauge(connections, float64(figures.Active), "active")
	s.gauge(connections, float64(figures.Reading), "reading")
	s.gauge(connections, float64(figures.Writing), "writing")
	s.gauge(connections, float64(figures.Waiting), "waiting")
	s.counter(accepted, float64(figures.Accepted))
	s.counter(handled, float64(figures.Handled))
	s.counter(requests, float64(figures.Requests))
}

// sink creates metrics from values.
type sink struct {
	out chan<- prometheus.Metric
}

func (s sink) gauge(desc *prometheus.Desc, value float64, labels ...string) {
	s.out <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
}

func (s sink) counter(desc *prometheus.Desc, value float64, labels ...string) {
	s.out <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, value, labels...)
}

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
