# Replaces the type of the only number in the AgentRole: a temperature is a number or a string, and structural schemas have no type for that.
# Without a type, bounds apply to numbers, the pattern to strings, and the rest excludes what is neither. No CEL rule can read such a field.
/^ *type: number$/ {
  indent = $0
  sub(/type.*/, "", indent)
  print indent "maxItems: 0"
  print indent "maxProperties: 0"
  print indent "not:"
  print indent "  enum: [true, false, [], {}]"
  print indent "pattern: ^([01]([.][0-9]{1,3})?|2([.]0{1,3})?)$"
  print indent "x-kubernetes-preserve-unknown-fields: true"
  next
}
{ print }
