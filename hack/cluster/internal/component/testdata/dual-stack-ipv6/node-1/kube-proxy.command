/node-programs/kube-proxy
--config=/cluster/node-1/kube-proxy.yaml
