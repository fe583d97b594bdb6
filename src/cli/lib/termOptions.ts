import { type Command, Option } from 'commander';
import { type NullableTerms, purposes } from '../../domain/events/payloads.ts';

/** The values of the options of `addTermOptions`; an empty one withdraws a term. */
export interface TermOptions {
  recipient?: string;
  recipientAddress?: string;
  purpose?: (typeof purposes)[number] | 'none';
  purposeStatement?: string;
}

/** Adds the options for the recipient and purpose of data. */
export function addTermOptions(command: Command): Command {
  return addPurposeOptions(
    command
      .option(
        '--recipient <name>',
        'the organization or person that receives the data, for disclosure reports',
      )
      .option('--recipient-address <address>', "the recipient's postal address"),
  );
}

/** Adds those of them that say why. */
export function addPurposeOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--purpose <purpose>', 'why the data is disclosed (45 CFR 164.528)').choices([
        ...purposes,
        'none',
      ]),
    )
    .option(
      '--purpose-statement <text>',
      'the basis in one sentence, for the patient; required for the purpose other',
    );
}

/** Splits options into the terms and the rest. */
export function termsOfOptions<Options extends TermOptions>(options: Options) {
  const { recipient, recipientAddress, purpose, purposeStatement, ...others } = options;
  const sent = {
    recipient,
    recipient_address: recipientAddress,
    purpose: purpose === 'none' ? null : purpose,
    purpose_statement: purposeStatement,
  };
  const given = Object.entries(sent).filter(([, value]) => value !== undefined);
  const terms: NullableTerms = Object.fromEntries(given);
  return { terms, others };
}
