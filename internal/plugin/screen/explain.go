package screen

import (
	"fmt"
	"strings"

	"example.com/nginx-operator/internal/plugin/explain"
)

// Explain shows why an application is as it is.
func (p Printer) Explain(e explain.Explanation) error {
	tone := good
	if !e.Ready {
		tone = bad
	}
	if err := p.printf("%s", p.coloured(Safe(e.Summary), tone)); err != nil {
		return err
	}
	for i, c := range e.Causes {
		if err := p.cause(i+1, c); err != nil {
			return err
		}
	}
	if err := p.podsNotReady(e.Pods); err != nil {
		return err
	}
	return p.forbidden(e.Forbidden)
}

func (p Printer) podsNotReady(pods []explain.Pod) error {
	if len(pods) == 0 {
		return nil
	}
	t, err := p.section("POD NOT READY", "NODE", "WHY")
	if err != nil {
		return err
	}
	for _, pod := range pods {
		t.row(pod.Name, pod.Node, pod.Message)
	}
	return t.print()
}

func (p Printer) cause(number int, c explain.Cause) error {
	reported := ""
	if c.Condition != "" {
		reported = fmt.Sprintf(" (%s: %s, for %s)", c.Condition, c.Reason, p.age(*c.Since))
	}
	lines := []string{"", fmt.Sprintf("%d. %s%s", number, capital(c.Means), reported)}
	if c.Message != "" && !strings.EqualFold(c.Message, c.Means) {
		lines = append(lines, "   "+c.Message)
	}
	lines = append(lines, "   What to do: "+c.Do)
	for _, command := range c.Commands {
		lines = append(lines, "     "+command)
	}
	for _, line := range lines {
		if err := p.printf("%s", Safe(line)); err != nil {
			return err
		}
	}
	return nil
}

// capital returns a sentence that begins with a capital letter, unless it begins with a name that has none.
func capital(text string) string {
	if strings.HasPrefix(text, "nginx") || strings.HasPrefix(text, "cert-manager") || text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
