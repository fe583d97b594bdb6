import { fileURLToPath } from 'node:url';

// Plain JavaScript for any Node from 18 on: what needs Node 24 would end there with a stack trace instead of this line.

const NEEDED_MAJOR = 24;

/** Whether this Node runs the program. */
export const isNewEnough = Number.parseInt(process.versions.node, 10) >= NEEDED_MAJOR;

/** Prints what to install, and sets the exit code. */
export function refuseNode() {
  process.stderr.write(
    `Chartledger needs Node ${NEEDED_MAJOR} or newer; this is Node ${process.versions.node}. Install it from nodejs.org, or with ` +
      `\`nvm install ${NEEDED_MAJOR}\` or \`brew install node@${NEEDED_MAJOR}\`.\n`,
  );
  process.exitCode = 1;
}

// `npm start` runs this file before the service.
if (process.argv[1] === fileURLToPath(import.meta.url) && !isNewEnough) refuseNode();
