package rollout

import "example.com/nginx-operator/internal/nginx/poddiagnosis"

// badNodes returns the nodes that are at fault rather than the template, with the number of new pods that each holds
// up.
func (in TemplateInput) badNodes() map[string]int { return poddiagnosis.BadNodes(in.placed()) }

func (in TemplateInput) placed() []poddiagnosis.PodOnNode {
	pods := make([]poddiagnosis.PodOnNode, 0, len(in.New))
	for _, p := range in.New {
		pods = append(pods, poddiagnosis.PodOnNode{Node: p.Node, Ready: p.Ready, Diagnosis: p.Diagnosis})
	}
	return pods
}

// withNodeNames returns a diagnosis that names its nodes.
func (in TemplateInput) withNodeNames(t poddiagnosis.Diagnosis) poddiagnosis.Diagnosis {
	t.Message = poddiagnosis.MessageWithNodes(t, in.placed())
	return t
}

// onlyStuck reports whether enough new pods are ready, and bad nodes hold up all others.
func (in TemplateInput) onlyStuck(bad map[string]int) bool {
	for _, p := range in.New {
		if !p.Ready && bad[p.Node] == 0 {
			return false
		}
	}
	return len(bad) > 0 && in.enough()
}
