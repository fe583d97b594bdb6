/** The two-letter codes known to USPS (Publication 28, appendix B: states, territories, military). */
export const uspsStates: readonly string[] = (
  'AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR ' +
  'PA RI SC SD TN TX UT VT VA WA WV WI WY DC AS GU MP PR VI FM MH PW AA AE AP'
).split(' ');

const codes = new Set(uspsStates);

/** Whether a code is one of `uspsStates`. */
export function isUspsState(code: string): boolean {
  return codes.has(code);
}
