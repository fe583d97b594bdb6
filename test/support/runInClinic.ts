import { type CliResult, runCli, storesOf } from './cli.ts';
import type { TestService } from './service.ts';

/** Runs a command on the stores of a service, for its workspace `clinic`. */
export function runInClinic(
  { config, workspaceId }: Pick<TestService, 'config' | 'workspaceId'>,
  ...args: string[]
): Promise<CliResult> {
  return runCli([...args, '--workspace', workspaceId('clinic')], {
    env: { ...storesOf(config), DATA_DIR: config.dataDir },
  });
}
