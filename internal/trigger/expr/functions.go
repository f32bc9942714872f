// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package expr

import (
	"strings"
	"unicode/utf8"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

// sizeCost is the cost of a call: its operands and its result are read or written. The default costs are those of the
// operands' declared types, and the variables of triggers have none.
type sizeCost struct{}

func (sizeCost) CallCost(function, _ string, args []ref.Val, result ref.Val) *uint64 {
	if function == "matches" || function == "contains" {
		return nil // the default is the product of both sizes
	}
	const perCost = 10
	size := valueSize(result)
	for _, arg := range args {
		size += valueSize(arg)
	}
	cost := 1 + size/perCost
	return &cost
}

func valueSize(value ref.Val) uint64 {
	if sizer, ok := value.(traits.Sizer); ok {
		if size, ok := sizer.Size().(types.Int); ok && size > 0 {
			return uint64(size)
		}
	}
	return 0
}

var tooLong = types.NewErr("the text would be too long")

// functions are additional functions on strings. Those of CEL's extension library can multiply the size of their
// operands before their cost is computed.
func functions() []cel.EnvOption {
	text := func(name string, f func(string) string) cel.EnvOption {
		return cel.Function(name, cel.MemberOverload("string_"+name, []*cel.Type{cel.StringType}, cel.StringType,
			cel.UnaryBinding(func(value ref.Val) ref.Val { return types.String(f(string(value.(types.String)))) })))
	}
	return []cel.EnvOption{
		text("trim", strings.TrimSpace),
		text("lowerAscii", func(s string) string { return mapASCII(s, 'A', 'Z', 'a'-'A') }),
		text("upperAscii", func(s string) string { return mapASCII(s, 'a', 'z', 'A'-'a') }),
		cel.Function("replace", cel.MemberOverload("string_replace", []*cel.Type{cel.StringType, cel.StringType, cel.StringType}, cel.StringType,
			cel.FunctionBinding(replace))),
		cel.Function("split", cel.MemberOverload("string_split", []*cel.Type{cel.StringType, cel.StringType}, cel.ListType(cel.StringType),
			cel.BinaryBinding(split))),
		cel.Function("join", cel.MemberOverload("list_join", []*cel.Type{cel.ListType(cel.StringType), cel.StringType}, cel.StringType,
			cel.BinaryBinding(join))),
		cel.Function("substring", cel.MemberOverload("string_substring", []*cel.Type{cel.StringType, cel.IntType, cel.IntType}, cel.StringType,
			cel.FunctionBinding(substring))),
	}
}

// mapASCII adds an offset to the ASCII characters of a range.
func mapASCII(s string, from, to byte, offset int) string {
	out := []byte(s)
	for i, c := range out {
		if c >= from && c <= to {
			out[i] = byte(int(c) + offset)
		}
	}
	return string(out)
}

func replace(args ...ref.Val) ref.Val {
	s, old, replacement := string(args[0].(types.String)), string(args[1].(types.String)), string(args[2].(types.String))
	if len(s)+strings.Count(s, old)*max(0, len(replacement)-len(old)) > MaxSize {
		return tooLong
	}
	return types.String(strings.ReplaceAll(s, old, replacement))
}

func split(text, separator ref.Val) ref.Val {
	const maxParts = 10_000
	parts := strings.SplitN(string(text.(types.String)), string(separator.(types.String)), maxParts+1)
	if len(parts) > maxParts {
		return types.NewErr("the text has more than %d parts", maxParts)
	}
	return types.DefaultTypeAdapter.NativeToValue(parts)
}

func join(list, separator ref.Val) ref.Val {
	between := string(separator.(types.String))
	var out strings.Builder
	for it := list.(traits.Lister).Iterator(); it.HasNext() == types.True; {
		part, ok := it.Next().(types.String)
		if !ok {
			return types.NewErr("join needs a list of strings: convert them with string()")
		}
		if out.Len()+len(part)+len(between) > MaxSize {
			return tooLong
		}
		if out.Len() > 0 {
			out.WriteString(between)
		}
		out.WriteString(string(part))
	}
	return types.String(out.String())
}

// substring returns the characters from the first position up to, but without, the second. Positions beyond the end
// mean the end.
func substring(args ...ref.Val) ref.Val {
	s, from, to := string(args[0].(types.String)), int64(args[1].(types.Int)), int64(args[2].(types.Int))
	if from < 0 || to < from {
		return types.NewErr("substring(%d, %d): the positions must be 0 or more, in order", from, to)
	}
	return types.String(s[offset(s, from):offset(s, to)])
}

func offset(s string, position int64) int {
	at := 0
	for ; position > 0 && at < len(s); position-- {
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	return at
}
