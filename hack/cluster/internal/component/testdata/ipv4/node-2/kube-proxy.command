/node-programs/kube-proxy
--config=/cluster/node-2/kube-proxy.yaml
