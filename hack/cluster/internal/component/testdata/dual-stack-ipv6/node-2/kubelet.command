/node-programs/kubelet
--config=/cluster/node-2/kubelet.yaml
--kubeconfig=/cluster/pki/node-2.kubeconfig
--hostname-override=node-2
--node-ip=fd00:10:10::2,10.10.0.2
--node-labels=topology.kubernetes.io/zone=zone-2
