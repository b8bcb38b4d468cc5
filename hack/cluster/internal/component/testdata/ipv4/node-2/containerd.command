/containerd/containerd
--config
/cluster/node-2/containerd.toml
