//! Reference of raytrace: pixel by pixel, with the kernel's order of operations.

use super::Case;
use crate::{Expected, Outputs};

type Vector = [f32; 3];

/// Place, radius, grey and mirror.
struct Sphere {
    place: Vector,
    radius: f32,
    grey: f32,
    mirror: f32,
}

/// What a ray meets.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Thing {
    Sphere(usize),
    Floor,
}

pub(crate) fn expected(case: &Case) -> Outputs {
    let (width, height) = (case.size("width"), case.size("height"));
    let scene = scene();
    let mut image = Vec::with_capacity(width * height);
    for row in 0..height as i32 {
        for column in 0..width as i32 {
            let (w, h) = (width as i32, height as i32);
            let ray = [(2 * column - w) as f32 / w as f32, (h - 2 * row) as f32 / w as f32, 1.0];
            let scale = 1.0 / dot(ray, ray).sqrt();
            image.push(trace(&scene, [0.0, 0.5, -4.0], ray.map(|c| c * scale), case.size("bounces")));
        }
    }
    Outputs::from([("image".into(), Expected::exact(&image))])
}

fn scene() -> Vec<Sphere> {
    let mut state = 12_345_u32;
    let mut draw = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as f32 / 256.0
    };
    let mut sphere = |i: usize| {
        let place = [8.0 * draw() - 4.0, 2.0 * draw(), 6.0 * draw() + 4.0];
        let (radius, grey) = (0.5 + 0.75 * draw(), 0.25 + 0.75 * draw());
        Sphere { place, radius, grey, mirror: if i.is_multiple_of(3) { 0.5 } else { 0.25 } }
    };
    (0..12).map(&mut sphere).collect()
}

fn dot(a: Vector, b: Vector) -> f32 {
    a[0].mul_add(b[0], a[1].mul_add(b[1], a[2] * b[2]))
}

fn along(origin: Vector, direction: Vector, t: f32) -> Vector {
    std::array::from_fn(|i| t.mul_add(direction[i], origin[i]))
}

/// The nearest thing along a ray and its distance.
fn hit(scene: &[Sphere], origin: Vector, direction: Vector) -> Option<(Thing, f32)> {
    let mut nearest: Option<(Thing, f32)> = None;
    let mut offer = |thing: Thing, t: f32| {
        if t > 1.0e-3 && t < nearest.map_or(1.0e30, |(_, t)| t) {
            nearest = Some((thing, t));
        }
    };
    for (i, sphere) in scene.iter().enumerate() {
        let to: Vector = std::array::from_fn(|i| sphere.place[i] - origin[i]);
        let middle = dot(to, direction);
        let off = sphere.radius.mul_add(sphere.radius, middle.mul_add(middle, -dot(to, to)));
        if off >= 0.0 {
            let half = off.sqrt();
            offer(Thing::Sphere(i), if middle - half > 1.0e-3 { middle - half } else { middle + half });
        }
    }
    if direction[1] < -1.0e-4 {
        offer(Thing::Floor, (-1.0 - origin[1]) / direction[1]);
    }
    nearest
}

fn trace(scene: &[Sphere], mut origin: Vector, mut direction: Vector, bounces: usize) -> f32 {
    let light = [0.48, 0.8, -0.36];
    let (mut brightness, mut share) = (0.0_f32, 1.0_f32);
    for _ in 0..=bounces {
        let Some((thing, t)) = hit(scene, origin, direction) else {
            return share.mul_add(0.5_f32.mul_add(direction[1].max(0.0), 0.25), brightness);
        };
        let at = along(origin, direction, t);
        let (normal, grey, mirror) = match thing {
            Thing::Sphere(i) => {
                let Sphere { place, radius, grey, mirror } = &scene[i];
                let inverse = 1.0 / radius;
                (std::array::from_fn(|i| (at[i] - place[i]) * inverse), *grey, *mirror)
            }
            Thing::Floor => {
                let odd = (at[0].floor() as i32).wrapping_add(at[2].floor() as i32) & 1 == 1;
                ([0.0, 1.0, 0.0], if odd { 0.875 } else { 0.125 }, 0.125)
            }
        };
        let facing = dot(normal, light);
        let lit =
            if facing > 0.0 && hit(scene, at, light).is_none() { 0.9_f32.mul_add(facing, 0.1) } else { 0.1 };
        brightness = (share * (1.0 - mirror)).mul_add(grey * lit, brightness);
        share *= mirror;
        direction = along(direction, normal, -2.0 * dot(direction, normal));
        origin = at;
    }
    brightness
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ray_down_meets_the_floor_and_one_at_a_sphere_the_sphere() {
        assert_eq!(hit(&[], [0.0; 3], [0.0, -1.0, 0.0]), Some((Thing::Floor, 1.0)));
        let ball = Sphere { place: [0.0, 0.0, 5.0], radius: 1.0, grey: 1.0, mirror: 0.0 };
        assert_eq!(hit(&[ball], [0.0; 3], [0.0, 0.0, 1.0]), Some((Thing::Sphere(0), 4.0)));
    }
}
