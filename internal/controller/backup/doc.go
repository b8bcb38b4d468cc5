// Package backup reconciles the kinds of the backup operator. It watches NginxOperators as
// something that belongs to others, and knows no more of them than their API tells
// (api/v1alpha2). It writes to them only the annotations that open gates, and what a restore
// brings back.
//
// There are four sequences, and nothing else here; what they decide is in internal/backup:
//
//   - Targets looks at one NginxOperator, the policies that select it and their backups, and
//     creates the backup that is due or lets expired ones go (package plan). When it has those
//     that its rollout waits for, it opens the gate.
//   - Backups carries one NginxBackup out: it records the state (package snapshot), starts
//     jobs (package job) and tells how they get on (package progress). Of data that is in the
//     store already, the job verifies it.
//   - Policies tells of each policy how its targets are, and lists its destination: what is in
//     there and has no object gets one (package listing).
//   - Restores carries one NginxRestore out: a job reads the backup and hands over what it
//     declares (package handover), it is decided what that changes (package restoration), another
//     job brings files back, and the objects are written.
package backup
