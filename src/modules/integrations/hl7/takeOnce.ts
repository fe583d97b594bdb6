import type { IngestPorts, IngestRun, OperationResult } from '../carryOut.ts';
import type { MessageKeeper } from '../MessageKeeper.ts';
import { MessageClaim } from '../messages/MessageClaim.ts';
import type { MessageClaims } from '../messages/MessageClaims.ts';
import type { Message } from '../messages/message.ts';
import { becameOfMessage } from './becameOfMessage.ts';
import type { Hl7Message } from './Hl7Message.ts';
import type { ConditionCode, Hl7Issue } from './hl7Issue.ts';
import type { Hl7Source } from './hl7Source.ts';
import { type TakenMessage, takeMessage } from './takeMessage.ts';

export interface TakeOncePorts extends IngestPorts {
  claims: MessageClaims;
}

const reused: Hl7Issue = {
  severity: 'warning',
  code: '205',
  location: 'MSH^1^10',
  text: 'Another message had this control id; this message was accepted as well. Send each message with its own control id.',
};

/**
 * Keeps a message, carries it out as `takeMessage` does, and notes its result. A message that was taken before, with
 * the same content and the same control id from the same sender, is answered as it was then: nothing is carried out,
 * so that it undoes nothing that came later. Rejects as `takeMessage` does, and with `unavailable` where the same
 * message is under way and does not finish.
 */
export async function takeOnce(
  ports: TakeOncePorts,
  run: Omit<IngestRun, 'caller'>,
  source: Hl7Source,
  message: Hl7Message,
  keeper: MessageKeeper,
): Promise<TakenMessage> {
  const own = { ...run, caller: keeper.caller };
  const keep = keeper.keep.bind(keeper);
  if (message.controlId === '') {
    const taken = await takeMessage(ports, own, source, message, keep);
    await keeper.processed(becameOfMessage(taken));
    return taken;
  }
  const control = [3, 4, 10].map((field) => message.header.text(field));
  const claim = await keeper.claim(ports.claims, control, run.stopping);
  if (!(claim instanceof MessageClaim)) return takenBefore(claim);
  let isNoted = false;
  try {
    const taken = await takeMessage(ports, own, source, message, keep);
    const others = await claim.others();
    const isReused = others.some(
      (other) => other.state === 'accepted' && other.control?.claim !== claim.control.claim,
    );
    const told = isReused ? { ...taken, issues: [...taken.issues, reused] } : taken;
    await keeper.processed(becameOfMessage(told));
    isNoted = true;
    if (taken.code === 'AA') await claim.settle(others);
    return told;
  } finally {
    await claim.end({ isNoted });
  }
}

/** Returns the result of a message that was taken, and changes nothing now. */
function takenBefore({ about, problems }: Message): TakenMessage {
  const results = about.flatMap(({ version }): OperationResult[] =>
    version === undefined ? [] : [{ outcome: 'unchanged', version, warnings: [] }],
  );
  const issues = problems.map(
    ({ severity, code, at, text }) =>
      ({
        severity: severity === 'error' ? severity : 'warning',
        code: code as ConditionCode,
        ...(at && { location: at }),
        text,
      }) satisfies Hl7Issue,
  );
  return { code: 'AA', issues, subjects: [], operations: [], results };
}
