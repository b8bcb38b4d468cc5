/kubernetes/volume-provisioner
--kubeconfig=/cluster/pki/volume-provisioner.kubeconfig
--node=node-2
--dir=/var/lib/local-volumes
