package storage

// Holdings counts what each Holder has of something that all share. One that has
// nothing is not in it. It is not safe for concurrent use.
type Holdings map[string]int

// Room reports whether every one of the holders may have one more.
func (h Holdings) Room(holders []Holder) bool {
	for _, who := range holders {
		if h[who.Name] >= who.Most {
			return false
		}
	}
	return true
}

// Add counts one more to each of the holders.
func (h Holdings) Add(holders []Holder) {
	for _, who := range holders {
		h[who.Name]++
	}
}

// Drop takes back one Add of the same holders.
func (h Holdings) Drop(holders []Holder) {
	for _, who := range holders {
		if h[who.Name]--; h[who.Name] == 0 {
			delete(h, who.Name)
		}
	}
}
