package catalog

// Unless turns conditions into those of the rows that do not meet them.
func Unless(conds []string) []string {
	out := make([]string, len(conds))
	for i, cond := range conds {
		out[i] = "(" + cond + ") IS NOT TRUE"
	}
	return out
}
