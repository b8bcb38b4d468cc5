/containerd/containerd
--config
/cluster/node-1/containerd.toml
