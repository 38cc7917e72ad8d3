/** The facts about an image from which `planImagePrune` decides. */
export interface PrunableImage {
  readonly id: string;
  readonly role: string;
  readonly project: string | null;
  readonly tags: readonly string[];
  readonly createdAt: Date;
}

/**
 * Selects the images to remove: by default, outdated base images, and all but the newest of this project's
 * images and of the probe images. `own` selects all images of this project and no others; `all` selects every
 * image that swarm made.
 */
export function planImagePrune<Image extends PrunableImage>(
  images: readonly Image[],
  wanted: {
    readonly project: string | null;
    readonly all: boolean;
    readonly own?: boolean;
    readonly current: readonly string[];
  },
): Image[] {
  // An image that a user built on top of one of swarm's images inherits swarm's labels, but belongs to the
  // user.
  const ours = images.filter(({ tags }) => tags.every((tag) => /^aimi-sandbox[:-]/.test(tag)));
  if (wanted.all) return ours;

  const own = ours.filter((image) => image.role === "project-image" && image.project === wanted.project);
  if (wanted.own) return own;
  const probes = ours.filter(({ role }) => role === "probe-image");
  const kept = new Set([...newestOf(own), ...newestOf(probes)]);
  return ours.filter((image) => {
    if (kept.has(image) || image.tags.some((tag) => wanted.current.includes(tag))) return false;
    return image.role === "project-image"
      ? image.project === wanted.project
      : image.role === "base-image" || image.role === "probe-image";
  });
}

/**
 * Returns the newest image that has a tag. Returns several images if they are equally new, because engines
 * report creation times in whole seconds.
 */
function newestOf<Image extends PrunableImage>(images: readonly Image[]): Image[] {
  const named = images.filter(({ tags }) => tags.length > 0);
  const newest = Math.max(...named.map(({ createdAt }) => createdAt.getTime()));
  return named.filter(({ createdAt }) => createdAt.getTime() === newest);
}
