package importer

func (s *inputs) workloads() []*object { return nil }

func (s *inputs) importWorkloads(_ []*object) (*Result, error) { return nil, errNothing }
