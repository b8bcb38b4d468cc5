// Package controller holds what the controllers of the backup operator share: options, predicates,
// indexes and status writes. Each controller is a package below this one:
//
//   - policy reports how the targets of an NginxBackupPolicy are, and lists its destination: data
//     without an NginxBackup gets one.
//   - nginxoperator creates the NginxBackups of an NginxOperator that are due, deletes expired ones, and
//     opens the gates of rollouts that wait for a backup.
//   - backup carries one NginxBackup out: it takes a snapshot and starts the jobs that write,
//     verify or delete the data.
//   - restore carries one NginxRestore out: jobs read the backup and bring files back, then the
//     controller writes the objects.
//   - jobs starts jobs for them, and bounds how many run at a time.
//
// The decisions are in the packages beside this one. The controllers use NginxOperators through
// their API alone (api/v1alpha2).
package controller
