// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package ledgertest

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/nestor-dev/nestor/internal/ledger"
	"github.com/nestor-dev/nestor/internal/ledger/connect"
	"github.com/nestor-dev/nestor/internal/ledger/sqlstore"
)

// Database is an empty database for one test.
type Database struct {
	// DSN is the connection string of the ledger.
	DSN string
	// Raw accesses the same database without the ledger.
	Raw *sql.DB
	// Lock are the statements that begin a transaction which blocks every writer.
	Lock []string
}

// Run runs the conformance suite; create creates an empty database.
func Run(t *testing.T, create func(testing.TB) Database) {
	for name, test := range map[string]func(*testing.T, Database){
		"AppendThenLoad":                      testAppendThenLoad,
		"EventsComeInPages":                   testEventsComeInPages,
		"SnapshotShortensLoad":                testSnapshotShortensLoad,
		"BatchIsAtomic":                       testBatchIsAtomic,
		"InvalidBatchIsRefused":               testInvalidBatchIsRefused,
		"AnOldEpochAppendsNothing":            testOldEpochCannotAppend,
		"AnOldEpochHarmsNoOther":              testOldEpochDoesNotAffectOthers,
		"NothingIsAddedToWhatASuccessorFinds": testOldEpochCannotAppendAfterTakeOver,
		"ReleasedShard":                       testReleasedShard,
		"ReplicasAreListed":                   testReplicasAreListed,
		"ALiveOwnerKeepsItsShards":            testLiveOwnerKeepsItsShards,
		"ARestartedReplicaTakesItsOwnShards":  testRestartedReplicaTakesItsOwnShards,
		"RacingReplicas":                      testRacingReplicas,
		"AFencedShardHarmsNoOther":            testFencedShardDoesNotAffectOthers,
		"OwnersOfAllShards":                   testOwnersOfAllShards,
		"AgentsByShardHash":                   testAgentsByShardHash,
		"ShardCountChangesWhenNoneIsOwned":    testShardCountChangesWhenNoneIsOwned,
		"RacingShardCounts":                   testRacingShardCounts,
		"SharesAreStoredForEachReplica":       testSharesAreStoredForEachReplica,
		"SharesExpire":                        testSharesExpire,
		"RacingSharesNeverExceed":             testRacingSharesNeverExceed,
		"ReplicasWithManyResources":           testReplicasWithManyResources,
		"DetachedResultsPassOver":             testDetachedResultsPassOver,
		"DetachedCallsAreFenced":              testDetachedCallsAreFenced,
		"AbandonedCalls":                      testAbandonedCalls,
		"NothingIsDetachedAfterATakeOver":     testNothingIsDetachedAfterTakeOver,
		"DetachedCallsExpire":                 testDetachedCallsExpire,
		"StaleDetachedCallsAreDeleted":        testStaleDetachedCallsAreDeleted,
		"DetachedCallsMoveToNewShards":        testDetachedCallsMoveToNewShards,
		"RacingFinishAndForget":               testRacingFinishAndForget,
		"DetachedCallsOfManyReplicas":         testDetachedCallsOfManyReplicas,
		"StaleWriterGetsConflict":             testStaleWriterGetsConflict,
		"UnknownAgentIsNotFound":              testUnknownAgentIsNotFound,
		"RacingWritersNeverShareASeq":         testRacingWritersNeverShareASeq,
		"WaitingAppendsShareOneCommit":        testWaitingAppendsShareOneCommit,
		"BadBatchHarmsNoOther":                testBadBatchDoesNotAffectOthers,
		"CancelledAppendIsWithdrawn":          testCancelledAppendIsWithdrawn,
		"CancelledAppendInProgressEnds":       testCancelledAppendInProgressEnds,
		"CloseRefusesWhatWaits":               testCloseRefusesWaitingAppends,
		"LedgerBehavesLikeItsModel":           testLedgerBehavesLikeItsModel,
		"KeysOfAllForms":                      testKeysOfAllForms,
		"ModelCallKeepsEveryColumn":           testModelCallKeepsEveryColumn,
		"RequestIsKeptByteForByte":            testRequestIsKeptByteForByte,
		"UnknownUsageIsNotZero":               testUnknownUsageIsNotZero,
		"DecisionsAreKept":                    testDecisionsAreKept,
		"OpenCallsAreVisible":                 testOpenCallsAreVisible,
		"ModelCallsByFilter":                  testModelCallsByFilter,
		"ToolOutputComesInParts":              testToolOutputIsReadInParts,
		"ToolOutputsOfATree":                  testToolOutputsOfATree,
		"ForkBeginsWithTheEventsOfItsOrigin":  testForkBeginsWithTheEventsOfItsOrigin,
		"ForkStartsOnce":                      testForkStartsOnce,
		"OriginLivesAsLongAsItsForks":         testOriginLivesAsLongAsItsForks,
		"PinnedAgentsDoNotExpire":             testPinnedAgentsDoNotExpire,
		"ForkReadsOutputsOfItsOrigin":         testForkReadsOutputsOfItsOrigin,
		"ForkIsSmall":                         testForkIsSmall,
		"ImagesAreKeptOnce":                   testImagesAreStoredOnce,
		"ImagesGoWithTheirAgents":             testImagesAreDeletedWithTheirAgents,
		"AWorkspaceIsReplaced":                testWorkspaceIsReplaced,
		"WorkspacesGoWithTheirOwners":         testWorkspacesAreDeletedWithTheirOwners,
		"OddTextIsTaken":                      testUnusualTextIsAccepted,
		"AgentsByFilter":                      testAgentsByFilter,
		"AgentIsUpdatedWithItsEvents":         testAgentUpdateIsAppendedWithItsEvents,
		"RunsHaveTimings":                     testRunsHaveTimings,
		"RunsByFilter":                        testRunsByFilter,
		"UsageByDimension":                    testUsageByDimension,
		"UsagePagesDoNotShift":                testUsagePagesDoNotShift,
		"UsageInTimeRange":                    testUsageInTimeRange,
		"UsageOverTime":                       testUsageOverTime,
		"OutcomesByRole":                      testOutcomesByRole,
		"CancelledIsNotFailed":                testCancelledIsNotFailed,
		"ReservationsRespectLimits":           testReservationsRespectLimits,
		"SettlementCountsRealUsage":           testSettlementCountsRealUsage,
		"ReservationSurvivesACrash":           testReservationSurvivesACrash,
		"RacingReservationsNeverExceed":       testRacingReservationsNeverExceed,
		"QuotaCountsFromItsPeriodStart":       testQuotaCountsFromTheStartOfItsPeriod,
		"WaitingCallCountsAtItsStart":         testWaitingCallCountsWhenItStarts,
		"PruneKeepsWhatQuotasCount":           testPruneKeepsQuotaCounts,
		"PruneKeepsLiveAgents":                testPruneKeepsLiveAgents,
		"PruneGoesInSmallSteps":               testPruneWorksInSmallSteps,
		"RetentionDoesNotStopWriters":         testRetentionDoesNotStopWriters,
		"ManyOpenAnEmptyDatabase":             testConcurrentOpenOfAnEmptyDatabase,
		"NewerSchemaIsRefused":                testNewerSchemaIsRefused,
		"UnreleasedSchemaIsRefused":           testLedgerFromBeforeTheFirstReleaseIsRefused,
		"NamespaceIsItsUID":                   testNamespaceIsItsUID,
		"QuotaHoldsInOneCurrency":             testQuotaHoldsInOneCurrency,
		"QuotaIsOfOneNamespace":               testQuotaIsOfOneNamespace,
		"BytesAreCounted":                     testBytesAreCounted,
		"WorkspacesCountInTheirNamespace":     testWorkspacesCountInTheirNamespace,
		"CallsArePrunedByAge":                 testCallsArePrunedByAge,
		"ATextIsKeptOnce":                     testTextsAreStoredOnce,
		"RequestsOfAChain":                    testRequestsOfAChain,
		"WhatARowHasTwiceIsWrittenOnce":       testDuplicateColumnsAreStoredOnce,
		"CallsOfAChainAreStoredOnce":          testCallsOfAChainAreStoredOnce,
		"AChainGoesWithItsLastRequest":        testChainIsDeletedWithItsLastRequest,
		"AYoungChainStays":                    testRecentChainIsKept,
		"DamageStaysWhereItIs":                testDamageAffectsOneRowOnly,
		"AnAgentThatBeginsAgainKnowsNothing":  testRecreatedAgentReusesNoTexts,
		"ATextOfARefusedAppendIsNotUsed":      testRefusedAppendAddsNoTexts,
		"SearchFindsWords":                    testSearchFindsWords,
		"HostileQueriesAreWords":              testHostileQueriesAreWords,
		"SearchInScope":                       testSearchInScope,
		"IndexIsOfTheSameTransaction":         testIndexIsOfTheSameTransaction,
		"IndexIsFilledLater":                  testIndexIsFilledLater,
		"IndexIsDroppedAndFilledAgain":        testIndexIsDroppedAndFilledAgain,
		"RacingIndexers":                      testRacingIndexers,
		"IndexGoesWithItsAgents":              testIndexGoesWithItsAgents,
	} {
		t.Run(name, func(t *testing.T) { test(t, create(t)) })
	}
}

// Open opens a ledger in the database until the test ends.
func (d Database) Open(t testing.TB, opts ...sqlstore.Option) ledger.Ledger {
	t.Helper()
	l, err := connect.Open(t.Context(), d.DSN, opts...)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return l
}

// Exec runs a statement without the ledger.
func (d Database) Exec(t testing.TB, query string) {
	t.Helper()
	if _, err := d.Raw.ExecContext(t.Context(), query); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// Block blocks every writer until the returned function is called.
func (d Database) Block(t testing.TB) (release func()) {
	t.Helper()
	conn, err := d.Raw.Conn(t.Context())
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	for _, query := range d.Lock {
		if _, err := conn.ExecContext(t.Context(), query); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	return func() {
		_, err := conn.ExecContext(context.WithoutCancel(t.Context()), "ROLLBACK")
		if err := errors.Join(err, conn.Close()); err != nil {
			t.Errorf("release: %v", err)
		}
	}
}

// Eventually waits until the condition holds, and fails the test after half a minute.
func Eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("timed out waiting until %s", what)
		}
	}
}
