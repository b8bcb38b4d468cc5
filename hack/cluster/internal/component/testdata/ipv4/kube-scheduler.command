/kubernetes/kube-scheduler
--kubeconfig=/cluster/pki/kube-scheduler.kubeconfig
--leader-elect=false
--kube-api-qps=500
--kube-api-burst=1000
