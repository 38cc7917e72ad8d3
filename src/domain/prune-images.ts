/** An image of ours, as far as pruning is concerned. */
export interface PrunableImage {
  readonly id: string;
  readonly role: string;
  readonly project: string | null;
  readonly tags: readonly string[];
  readonly createdAt: Date;
}

/**
 * Which images nobody needs any more: of each project all but the newest, bases that are no longer the base, what measured runtimes
 * before the newest of its kind, and what lost its name. With `own`, every image of this project and no other; with `all`, every
 * image of ours. Other projects' images are theirs.
 */
export function planPrune<Image extends PrunableImage>(
  images: readonly Image[],
  {
    project,
    all,
    own: onlyOwn = false,
    current,
  }: {
    readonly project: string | null;
    readonly all: boolean;
    readonly own?: boolean;
    readonly current: readonly string[];
  },
): Image[] {
  // An image that somebody built upon ours has inherited our labels, and is theirs.
  const ours = images.filter(({ tags }) => tags.every((tag) => /^aimi-sandbox[:-]/.test(tag)));
  if (all) return ours;

  const own = ours.filter((image) => image.role === "project-image" && image.project === project);
  if (onlyOwn) return own;
  const probes = ours.filter(({ role }) => role === "probe-image");
  const kept = new Set([...newestOf(own), ...newestOf(probes)]);
  return ours.filter((image) => {
    if (kept.has(image) || image.tags.some((tag) => current.includes(tag))) return false;
    switch (image.role) {
      case "project-image":
        return image.project === project;
      case "base-image":
      case "probe-image":
        return true;
      default:
        return false;
    }
  });
}

/** Of those that still have a name. Engines tell the time of an image in seconds, so that there may be several. */
function newestOf<Image extends PrunableImage>(images: readonly Image[]): Image[] {
  const named = images.filter(({ tags }) => tags.length > 0);
  const newest = Math.max(...named.map(({ createdAt }) => createdAt.getTime()));
  return named.filter(({ createdAt }) => createdAt.getTime() === newest);
}
