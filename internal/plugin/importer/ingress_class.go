package importer

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
)

// ingressController is the controller of IngressClasses that ingress-nginx serves.
const ingressController = "k8s.io/ingress-nginx"

// classOf returns the class of an Ingress, or "".
func classOf(ingress *networkingv1.Ingress) string {
	if class := ingress.Spec.IngressClassName; class != nil {
		return *class
	}
	return ingress.Annotations[classAnnotation]
}

// chosenClass returns the class whose Ingress objects are imported: each controller has clients of its own.
func (s *inputs) chosenClass() (string, error) {
	if s.options.Class != "" {
		return s.options.Class, nil
	}
	_, ingresses := ofType[*networkingv1.Ingress](s)
	found := map[string]bool{}
	for _, ingress := range ingresses {
		found[classOf(ingress)] = true
	}
	delete(found, "")
	names := slices.Sorted(maps.Keys(found))
	switch own := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !s.ownClass(name) }); {
	case len(own) == 1:
		return own[0], nil
	case len(names) == 0:
		return "", nil
	case len(own) == 0:
		return "", fmt.Errorf("no Ingress is of a class that ingress-nginx is known to serve: pass its IngressClass, too, or choose one with --class: %s", strings.Join(names, ", "))
	}
	return "", fmt.Errorf("the Ingress objects are of several classes, which have different clients: choose one with --class: %s", strings.Join(names, ", "))
}

// ownClass reports whether ingress-nginx serves a class: as its IngressClass says, or by its name.
func (s *inputs) ownClass(name string) bool {
	_, classes := ofType[*networkingv1.IngressClass](s)
	for _, class := range classes {
		if class.Name == name {
			return class.Spec.Controller == ingressController
		}
	}
	return name == "nginx" || strings.Contains(name, "nginx")
}

// ofClass returns the Ingress objects to import, and reviews those of other classes.
func (s *inputs) ofClass(r *Review, done map[*object]bool) (found []*object, err error) {
	class, err := s.chosenClass()
	if err != nil {
		return nil, err
	}
	objects, ingresses := ofType[*networkingv1.Ingress](s)
	var without []string
	for i, o := range objects {
		switch own := classOf(ingresses[i]); own {
		case class, "":
			found = append(found, o)
			if own != class {
				without = append(without, ingresses[i].Name)
			}
		default:
			note := fmt.Sprintf("its class is %s, and the import is of %s: import it with --class %s into an application of its own", own, cmp.Or(class, "those without a class"), own)
			o.take("metadata", NotCarried, note)
			o.take("spec", NotCarried, note)
			o.review(r, note)
			done[o] = true
			r.step("Keep the controller of the class %s for the Ingress %s, or import it on its own: --class %s.", own, ingresses[i].Name, own)
		}
	}
	if len(without) > 0 {
		r.step("Check that ingress-nginx serves these Ingress objects, which have no class: %s.", strings.Join(without, ", "))
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%w: no Ingress is of the class %s", ErrNothing, class)
	}
	return found, nil
}
