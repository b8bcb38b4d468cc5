/kubernetes/volume-provisioner
--kubeconfig=/cluster/pki/volume-provisioner.kubeconfig
--node=node-1
--dir=/var/lib/local-volumes
