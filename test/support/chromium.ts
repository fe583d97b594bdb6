import { existsSync } from 'node:fs';

/** The browser in which the dashboard is tested. */
export const chromiumPath = process.env.TEST_CHROMIUM || '/usr/bin/chromium';

/** Why there is none, if so. */
export const missingBrowser = existsSync(chromiumPath)
  ? undefined
  : `Chromium is not at ${chromiumPath}; TEST_CHROMIUM names another place`;
