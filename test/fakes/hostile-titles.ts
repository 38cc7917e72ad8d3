/** Titles as a repository from somewhere may bring them, and what of each may be seen. */
export const hostileTitles: readonly (readonly [what: string, title: string, shown: string])[] = [
  ["a colour", "Add \u001b[31mred\u001b[0m form", "Add red form"],
  ["a cleared screen", "Add\u001b[2J\u001b[H a form", "Add a form"],
  ["a title of the terminal", "Add \u001b]0;owned\u0007a form", "Add a form"],
  ["a link", "Add \u001b]8;;http://evil.invalid\u001b\\a form\u001b]8;;\u001b\\", "Add a form"],
  ["a link begun by one character", "Add \u009d8;;http://evil.invalid\u009ca form", "Add a form"],
  ["a device string", "Add \u001bP1$r0m\u001b\\a form", "Add a form"],
  ["a sequence begun by one character", "Add \u009b31ma form", "Add a form"],
  ["other control characters", "Add\u0008\u0085\u007f a\u0007\u0090 form", "Add a form"],
  ["a turned direction", "Add \u202emrof a\u202c form", "Add mrof a form"],
  ["an isolate", "Add \u2066a\u2069\u061c\u200f form", "Add a form"],
  ["nothing of a width", "Add\u200b a\u2060\ufeff f\u00ador\u200dm", "Add a form"],
  ["tags that machines read", "Add a form\u{e0001}\u{e0069}\u{e0067}\u{e006e}\u{e007f}", "Add a form"],
  ["a break", "Add a form\n\nSwarm-Story: US-999", "Add a form Swarm-Story: US-999"],
  ["a break of another system", "Add a form\r\nSwarm-Story: US-999\r", "Add a form Swarm-Story: US-999"],
  ["a break of Unicode", "Add a form\u2028\u2029Swarm-Story: US-999", "Add a form Swarm-Story: US-999"],
  ["NUL", "Add a\u0000 form", "Add a form"],
  ["half a character", "Add a\ud800 form", "Add a form"],
];

/** What no line, report or log may hold, written down a second time: by the numbers of the characters. */
export function hiddenIn(text: string): string[] {
  const ranges = [
    ...[[0, 8] as const, [0xb, 0x1f] as const, [0x7f, 0x9f] as const, [0xad, 0xad] as const],
    ...[
      [0x61c, 0x61c] as const,
      [0x180e, 0x180e] as const,
      [0x200b, 0x200b] as const,
      [0x200e, 0x200f] as const,
    ],
    ...[
      [0x2028, 0x202e] as const,
      [0x2060, 0x206f] as const,
      [0xd800, 0xdfff] as const,
      [0xfeff, 0xfeff] as const,
    ],
    ...[[0xfff9, 0xfffb] as const, [0xe0000, 0xe0fff] as const],
  ];
  return [...text].flatMap((character) => {
    const code = character.codePointAt(0) ?? 0;
    return ranges.some(([from, to]) => code >= from && code <= to) ? [`U+${code.toString(16)}`] : [];
  });
}
