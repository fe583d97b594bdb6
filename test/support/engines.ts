import { describe } from '@jest/globals';
import { startTestService, type TestService } from './service.ts';

/** Starts a service on one set of engines; `env` overrides settings. */
export type StartService = (env?: Record<string, string>) => Promise<TestService>;

/** Runs a suite on every set of engines that is at hand: the embedded default always. */
export function onEveryEngine(suite: (start: StartService) => void): void {
  describe('embedded engines', () => suite((env = {}) => startTestService(env)));
}
