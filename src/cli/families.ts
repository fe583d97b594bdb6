import type { Command } from 'commander';

/** Commands that one module adds to the program. */
interface Family {
  names: readonly string[];
  load(): Promise<(program: Command) => void>;
}

/** All commands by name, in the order of the help. Their modules, and all that these use, are loaded only when needed. */
export const families: readonly Family[] = [
  { names: ['serve'], load: async () => (await import('./serveCommand.ts')).addServeCommand },
  { names: ['workspaces'], load: async () => (await import('./workspaceCommands.ts')).addWorkspaceCommands },
  { names: ['keys'], load: async () => (await import('./keys/keyCommands.ts')).addKeyCommands },
  { names: ['demo'], load: async () => (await import('./demo/demoCommand.ts')).addDemoCommand },
  { names: ['users'], load: async () => (await import('./userCommands.ts')).addUserCommands },
  {
    names: ['projections'],
    load: async () => (await import('./projectionCommands.ts')).addProjectionCommands,
  },
  { names: ['secrets'], load: async () => (await import('./secrets/secretsCommands.ts')).addSecretsCommands },
  { names: ['doctor'], load: async () => (await import('./doctor/doctorCommand.ts')).addDoctorCommand },
  {
    names: ['backup', 'restore'],
    load: async () => (await import('./backup/backupCommands.ts')).addBackupCommands,
  },
  { names: ['import'], load: async () => (await import('./import/importCommand.ts')).addImportCommand },
  { names: ['export'], load: async () => (await import('./exportCommand.ts')).addExportCommand },
  {
    names: ['verify', 'signing-key'],
    load: async () => (await import('./verifyCommand.ts')).addVerifyCommand,
  },
  { names: ['history'], load: async () => (await import('./history/historyCommand.ts')).addHistoryCommand },
  { names: ['audit'], load: async () => (await import('./audit/auditCommand.ts')).addAuditCommand },
  {
    names: ['disclosures'],
    load: async () => (await import('./disclosures/disclosuresCommand.ts')).addDisclosuresCommand,
  },
  { names: ['erase'], load: async () => (await import('./erasure/eraseCommand.ts')).addEraseCommand },
  { names: ['hold'], load: async () => (await import('./erasure/holdCommands.ts')).addHoldCommands },
  {
    names: ['retention'],
    load: async () => (await import('./erasure/retentionCommand.ts')).addRetentionCommand,
  },
  {
    names: ['prove', 'prove-consistency'],
    load: async () => (await import('./proveCommand.ts')).addProveCommands,
  },
  { names: ['webhooks'], load: async () => (await import('./webhookCommands.ts')).addWebhookCommands },
  { names: ['records'], load: async () => (await import('./records/recordsCommands.ts')).addRecordsCommands },
  {
    names: ['readiness'],
    load: async () => (await import('./readiness/readinessCommands.ts')).addReadinessCommands,
  },
  {
    names: ['reference'],
    load: async () => (await import('./reference/referenceCommands.ts')).addReferenceCommands,
  },
  { names: ['sources'], load: async () => (await import('./sources/sourceCommands.ts')).addSourceCommands },
  {
    names: ['messages'],
    load: async () => (await import('./messages/messageCommands.ts')).addMessageCommands,
  },
  {
    names: ['mappings'],
    load: async () => (await import('./mappings/mappingCommands.ts')).addMappingCommands,
  },
  { names: ['listen'], load: async () => (await import('./stream/listenCommand.ts')).addListenCommand },
  { names: ['events'], load: async () => (await import('./stream/eventsCommands.ts')).addEventsCommands },
  {
    names: ['completion'],
    load: async () => (await import('./completion/completionCommand.ts')).addCompletionCommand,
  },
];
