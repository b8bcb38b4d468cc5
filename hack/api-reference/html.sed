# Text such as <name> would be HTML, which is not shown. In code it is text already.
s/<br \/>/\x01/g
:escape
s/^((`[^`]*`|[^`<])*)</\1\&lt;/
t escape
s/\x01/<br \/>/g
