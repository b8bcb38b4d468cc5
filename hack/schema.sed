# What controller-gen has for quantities of Kubernetes (resource.Quantity) allows any number of digits, also in the
# exponent. To read "1e-99999999999", a program computes 10 to that power: it would never answer again.
s/^\( *pattern: \)\^(\\+|-)?((\[0-9\]+(\\\.\[0-9\]\*)?)|(\\\.\[0-9\]+))((\[KMGTPE\]i)|\[numkMGTPE\]|(\[eE\](\\+|-)?((\[0-9\]+(\\\.\[0-9\]\*)?)|(\\\.\[0-9\]+))))?\$$/\1^(\\+|-)?(([0-9]{1,30}(\\.[0-9]{0,30})?)|(\\.[0-9]{1,30}))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)?[0-9]{1,2}))?$/

# API servers of Kubernetes 1.33 and older do not check the format int32. A program that cannot read one object of a list
# cannot read any of them, so the bounds are in the schema as well.
/^ *format: int32$/{
N
s/^\( *\)format: int32\n *type: integer$/\1format: int32\n\1maximum: 2147483647\n\1minimum: -2147483648\n\1type: integer/
s/^\( *\)format: int32\n\( *minimum: .*\)$/\1format: int32\n\1maximum: 2147483647\n\2/
t
n
s/^\( *\)type: integer$/\1minimum: -2147483648\n\1type: integer/
}
