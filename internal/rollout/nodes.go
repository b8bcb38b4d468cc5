package rollout

import "example.com/nginx-operator/internal/trouble"

// badNodes are the nodes that are at fault rather than the template, with how many new pods each holds up.
func (in TemplateInput) badNodes() map[string]int { return trouble.BadNodes(in.placed()) }

func (in TemplateInput) placed() []trouble.Placed {
	pods := make([]trouble.Placed, 0, len(in.New))
	for _, p := range in.New {
		pods = append(pods, trouble.Placed{Node: p.Node, Ready: p.Ready, Trouble: p.Trouble})
	}
	return pods
}

// named is a trouble that names its nodes.
func (in TemplateInput) named(t trouble.Trouble) trouble.Trouble {
	t.Message = trouble.OnNodes(t, in.placed())
	return t
}

// onlyStuck tells whether enough new pods are ready, and all others are held up by bad nodes.
func (in TemplateInput) onlyStuck(bad map[string]int) bool {
	for _, p := range in.New {
		if !p.Ready && bad[p.Node] == 0 {
			return false
		}
	}
	return len(bad) > 0 && in.enough()
}
