package job

// The directories in a job's pod.
const (
	// SnapshotDir holds the pieces of the snapshot, in the order of their names.
	SnapshotDir = "/snapshot"
	// ContentDir holds the volumes, by their index.
	ContentDir = "/content"
	// SecretsDir holds the application's Secrets, by their names.
	SecretsDir = "/secrets"
	// CredentialsDir holds the files of the destination's Secret.
	CredentialsDir = "/credentials"
	// DestinationDir is the claim that backups are kept on.
	DestinationDir = "/destination"
	// ScratchDir is for temporary files.
	ScratchDir = "/tmp"
)
