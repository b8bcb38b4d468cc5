/node-programs/kubelet
--config=/cluster/node-1/kubelet.yaml
--kubeconfig=/cluster/pki/node-1.kubeconfig
--hostname-override=node-1
--node-ip=10.10.0.1
--node-labels=topology.kubernetes.io/zone=zone-1
