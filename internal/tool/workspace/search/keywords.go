// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
)

// KeywordQuery is a search for the files that are most relevant to some words.
type KeywordQuery struct {
	// Words are matched case-insensitively, as words, as parts of identifiers (user finds getUserName and user_id)
	// and, with a lower weight, inside other words.
	Words []string
	// Limit is the maximum number of files, and Lines that of lines per file.
	Limit, Lines int
}

// KeywordResult lists the most relevant files, best first.
type KeywordResult struct {
	Hits    []KeywordHit
	Words   int // words searched for
	Total   int // files with at least one of them
	Skipped Skipped
}

// KeywordHit is a file with its most relevant lines.
type KeywordHit struct {
	Path  string
	Words int // how many of the query's words it contains
	Lines []Line

	frequencies []float64 // by term
	length      int
	score       float64
}

// Keywords ranks files by relevance with the BM25 formula: a word has more weight the fewer files contain it, and
// less with each repetition and in long files. Files with more of the words come first.
func Keywords(ctx context.Context, files Files, query KeywordQuery) (KeywordResult, error) {
	terms := makeTerms(query.Words)
	if len(terms) == 0 {
		return KeywordResult{}, errors.New("keywords has no word to search for; give words of letters or digits, two characters or longer")
	}
	var workers []*ranker
	unreadable, err := files.walk(ctx, func() visitor {
		r := &ranker{terms: terms, limit: files.MaxFileBytes}
		workers = append(workers, r)
		return r.visit
	})
	if err != nil {
		return KeywordResult{}, err
	}
	all := corpus{documents: make([]int, len(terms))}
	result := KeywordResult{Skipped: Skipped{Unreadable: unreadable}}
	for _, r := range workers {
		all.add(r.corpus)
		result.Hits = append(result.Hits, r.hits...)
		result.Skipped.add(r.skipped)
	}
	result.Total = len(result.Hits)
	result.Words = terms[len(terms)-1].word + 1
	rank(result.Hits, terms, all)
	result.Hits = result.Hits[:min(query.Limit, len(result.Hits))]
	for i := range result.Hits {
		result.Hits[i].Lines = bestLines(files, result.Hits[i].Path, terms, query.Lines)
	}
	return result, ctx.Err()
}

// corpus has the totals that the weight of a term depends on.
type corpus struct {
	files     int
	bytes     int
	documents []int // files that have each term
}

func (c *corpus) add(other corpus) {
	c.files += other.files
	c.bytes += other.bytes
	for i, n := range other.documents {
		c.documents[i] += n
	}
}

// ranker counts terms in files on one worker.
type ranker struct {
	terms   []term
	limit   int64
	buf     []byte
	corpus  corpus
	hits    []KeywordHit
	skipped Skipped
}

func (r *ranker) visit(f file) {
	data, err := f.readText(r.buf, r.limit)
	r.buf = data
	if err != nil {
		r.skipped.count(err)
		return
	}
	if r.corpus.documents == nil {
		r.corpus.documents = make([]int, len(r.terms))
	}
	r.corpus.files++
	r.corpus.bytes += len(data)
	var frequencies []float64
	for i, t := range r.terms {
		// A word in the file's name counts several times.
		const nameCounts = 3
		frequency := t.frequency(data) + nameCounts*t.frequency([]byte(f.path))
		if frequency == 0 {
			continue
		}
		if frequencies == nil {
			frequencies = make([]float64, len(r.terms))
		}
		frequencies[i] = frequency
		r.corpus.documents[i]++
	}
	if frequencies != nil {
		r.hits = append(r.hits, KeywordHit{Path: f.path, frequencies: frequencies, length: len(data)})
	}
}

// rank scores hits and sorts them, best first, equal ones by path.
func rank(hits []KeywordHit, terms []term, all corpus) {
	// The usual parameters of BM25.
	const saturation, normalization = 1.2, 0.75
	average := float64(all.bytes)/float64(max(all.files, 1)) + 1
	words := terms[len(terms)-1].word + 1
	for i := range hits {
		hit := &hits[i]
		longer := 1 - normalization + normalization*float64(hit.length)/average
		contained := make([]bool, words)
		for j, frequency := range hit.frequencies {
			if frequency == 0 {
				continue
			}
			contained[terms[j].word] = true
			rarity := math.Log(1 + (float64(all.files-all.documents[j])+0.5)/(float64(all.documents[j])+0.5))
			hit.score += terms[j].weight * rarity * frequency * (saturation + 1) / (frequency + saturation*longer)
		}
		for _, ok := range contained {
			if ok {
				hit.Words++
			}
		}
		hit.score *= float64(hit.Words) / float64(words)
	}
	slices.SortFunc(hits, func(a, b KeywordHit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.Path, b.Path))
	})
}
