# What controller-gen has for quantities of Kubernetes (resource.Quantity) allows any number of digits, also in the
# exponent. To read "1e-99999999999", a program computes 10 to that power: it would never answer again.
s/^\( *pattern: \)\^(\\+|-)?((\[0-9\]+(\\\.\[0-9\]\*)?)|(\\\.\[0-9\]+))((\[KMGTPE\]i)|\[numkMGTPE\]|(\[eE\](\\+|-)?((\[0-9\]+(\\\.\[0-9\]\*)?)|(\\\.\[0-9\]+))))?\$$/\1^(\\+|-)?(([0-9]{1,30}(\\.[0-9]{0,30})?)|(\\.[0-9]{1,30}))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?[0-9]{1,2}))?$/
