package flows

func badInputs(w *world) {}
