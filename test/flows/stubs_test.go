package flows

func conversations(w *world) {}
func deletion(w *world)      {}
func badInputs(w *world)     {}
