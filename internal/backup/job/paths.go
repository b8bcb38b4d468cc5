package job

// Where a job's pod finds what it needs.
const (
	// SnapshotDir has the pieces of the snapshot, in the order of their names.
	SnapshotDir = "/snapshot"
	// ContentDir has the volumes, by their index.
	ContentDir = "/content"
	// SecretsDir has the application's Secrets, by their names.
	SecretsDir = "/secrets"
	// CredentialsDir has the files of the destination's Secret.
	CredentialsDir = "/credentials"
	// DestinationDir is the claim that backups are kept on.
	DestinationDir = "/destination"
	// ScratchDir is for files that nobody else needs.
	ScratchDir = "/tmp"
)
