import type { Command } from 'commander';

/** Commands that one module adds to the program. */
interface Family {
  names: readonly string[];
  load(): Promise<(program: Command) => void>;
}

/** All commands by name, in the order of the help. Their modules, and all that these use, are loaded only when needed. */
export const families: readonly Family[] = [
  { names: ['serve'], load: async () => (await import('./commands/serveCommand.ts')).addServeCommand },
  {
    names: ['workspaces'],
    load: async () => (await import('./commands/workspaceCommands.ts')).addWorkspaceCommands,
  },
  { names: ['keys'], load: async () => (await import('./commands/keyCommands.ts')).addKeyCommands },
  { names: ['demo'], load: async () => (await import('./commands/demoCommand.ts')).addDemoCommand },
  { names: ['users'], load: async () => (await import('./commands/userCommands.ts')).addUserCommands },
  {
    names: ['projections'],
    load: async () => (await import('./commands/projectionCommands.ts')).addProjectionCommands,
  },
  {
    names: ['secrets'],
    load: async () => (await import('./commands/secretsCommands.ts')).addSecretsCommands,
  },
  { names: ['doctor'], load: async () => (await import('./commands/doctorCommand.ts')).addDoctorCommand },
  {
    names: ['backup', 'restore'],
    load: async () => (await import('./commands/backupCommands.ts')).addBackupCommands,
  },
  {
    names: ['import'],
    load: async () => (await import('./commands/import/importCommand.ts')).addImportCommand,
  },
  { names: ['export'], load: async () => (await import('./commands/exportCommand.ts')).addExportCommand },
  {
    names: ['verify', 'signing-key'],
    load: async () => (await import('./commands/verifyCommand.ts')).addVerifyCommand,
  },
  { names: ['history'], load: async () => (await import('./commands/historyCommand.ts')).addHistoryCommand },
  { names: ['audit'], load: async () => (await import('./commands/auditCommand.ts')).addAuditCommand },
  {
    names: ['disclosures'],
    load: async () => (await import('./commands/disclosuresCommand.ts')).addDisclosuresCommand,
  },
  { names: ['erase'], load: async () => (await import('./commands/eraseCommand.ts')).addEraseCommand },
  { names: ['hold'], load: async () => (await import('./commands/holdCommands.ts')).addHoldCommands },
  {
    names: ['retention'],
    load: async () => (await import('./commands/retentionCommand.ts')).addRetentionCommand,
  },
  {
    names: ['prove', 'prove-consistency'],
    load: async () => (await import('./commands/proveCommand.ts')).addProveCommands,
  },
  {
    names: ['webhooks'],
    load: async () => (await import('./commands/webhookCommands.ts')).addWebhookCommands,
  },
  {
    names: ['records'],
    load: async () => (await import('./commands/recordsCommands.ts')).addRecordsCommands,
  },
  {
    names: ['readiness'],
    load: async () => (await import('./commands/readinessCommands.ts')).addReadinessCommands,
  },
  {
    names: ['reference'],
    load: async () => (await import('./commands/referenceCommands.ts')).addReferenceCommands,
  },
  { names: ['sources'], load: async () => (await import('./commands/sourceCommands.ts')).addSourceCommands },
  {
    names: ['messages'],
    load: async () => (await import('./commands/messageCommands.ts')).addMessageCommands,
  },
  {
    names: ['mappings'],
    load: async () => (await import('./commands/mappingCommands.ts')).addMappingCommands,
  },
  { names: ['listen'], load: async () => (await import('./commands/listenCommand.ts')).addListenCommand },
  { names: ['events'], load: async () => (await import('./commands/eventsCommands.ts')).addEventsCommands },
  {
    names: ['completion'],
    load: async () => (await import('./commands/completionCommand.ts')).addCompletionCommand,
  },
];
