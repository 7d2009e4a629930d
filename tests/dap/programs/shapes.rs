// Enumerations, vectors and traits, for scenarios of Rust.
trait Area {
    fn area(&self) -> f64;
}

struct Circle {
    radius: f64,
}

struct Square {
    side: f64,
    name: String,
}

impl Area for Circle {
    fn area(&self) -> f64 {
        3.0 * self.radius * self.radius // circle
    }
}

impl Area for Square {
    fn area(&self) -> f64 {
        self.side * self.side // square
    }
}

fn sum(shapes: &[Box<dyn Area>]) -> f64 {
    let mut total = 0.0;
    for shape in shapes {
        total += shape.area(); // the sum
    }
    total // the total
}

fn main() {
    let numbers = vec![10, 20, 30];
    let square = Square { side: 2.0, name: String::from("box") };
    println!("{} {}", square.name, numbers.len());
    let shapes: Vec<Box<dyn Area>> = vec![Box::new(Circle { radius: 1.0 }), Box::new(square)];
    let total = sum(&shapes);
    println!("{} {:?}", total, numbers); // the end
}
