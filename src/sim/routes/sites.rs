//! Sites: the ten operations of section 4.3.

use super::{Request, named, page};
use crate::answer::{Answer, Outcome, Refusal};
use crate::names::engine_versions;
use crate::validate::Fields;
use crate::wire::Wire;
use crate::world::World;
use crate::world::records::Site;
use serde_json::json;

/// Engines (section 2.3).
const ENGINES: [&str; 7] = ["php", "python", "nodejs", "ruby", "asgi", "exec", "static"];
/// Charsets (section 2.3).
const CHARSETS: [&str; 2] = ["utf-8", "windows-1251"];
/// Images (section 4.3).
const IMAGES: &str = "bitrix_business bitrix_smallbus bitrix_standart bitrix_start django_mysql django_postgres drupal \
    hostcms joomla modx_v2 modx_v3 rails_postgres rails_mysql wordpress opencart php_mysql \
    php_postgres php_mongodb python_mysql python_postgres python_mongodb asgi_mysql asgi_postgres \
    asgi_mongodb nodejs_mysql nodejs_postgres nodejs_mongodb ruby_mysql ruby_postgres ruby_mongodb \
    static exec_mysql exec_postgres exec_mongodb";

pub(super) fn route(world: &mut World, rq: &Request<'_>, rest: &[&str]) -> Outcome {
    match (rq.method, rest) {
        ("POST", []) => create(world, rq),
        ("POST", ["install"]) => install(world, rq),
        ("GET", [part]) => shown(world, named(&world.sites, part)?),
        ("PUT", [part]) => update(world, rq, part),
        ("PUT", [part, "restart"]) => {
            let id = named(&world.sites, part)?;
            world.work_on_site(id, "Restarting");
            shown(world, id)
        }
        ("DELETE", [part]) => {
            let id = named(&world.sites, part)?;
            let answer = shown(world, id);
            world.remove_site(id);
            answer
        }
        ("PUT", [part, "order-certificate"]) => order_certificate(world, part),
        ("GET", [part, "engine-versions"]) => {
            let id = named(&world.sites, part)?;
            let versions = world.sites.get(id).map_or(&[][..], |s| engine_versions(&s.engine));
            Ok(Answer::json(200, &json!({ "versions": versions })))
        }
        ("PUT", [part, "engine-settings"]) => engine_settings(world, rq, part),
        _ => rq.not_allowed(),
    }
}

/// Sites of a container.
pub(super) fn of_container(world: &World, rq: &Request<'_>, part: &str) -> Outcome {
    if rq.method != "GET" {
        return rq.not_allowed();
    }
    let id = named(&world.containers, part)?;
    let sites = world.containers.get(id).map_or(&[][..], |container| &container.sites);
    page::entities(rq, sites, |id| world.sites.get(*id).map(|site| Wire(world).site(site)))
}

fn shown(world: &World, id: u64) -> Outcome {
    super::shown(&world.sites, id, 200, |site| Wire(world).site(site))
}

/// The fields that creating and installing share.
fn common(fields: &mut Fields) -> Site {
    Site {
        container: u64::try_from(fields.required_int("container_id")).unwrap_or(0),
        name: fields.required_text("name"),
        force_https: fields.flag("force_https").unwrap_or(false),
        charset: fields.one_of("charset", &CHARSETS).unwrap_or_default(),
        main_alias: fields.text("main_alias").unwrap_or_default(),
        aliases: fields.texts("aliases").unwrap_or_default(),
        certificate_id: fields.int_within("certificate_id", 0, i64::MAX).unwrap_or(0),
        cron_mail: fields.text("cron_mail").unwrap_or_default(),
        ..Site::default()
    }
}

fn build(world: &mut World, new: Site, database: bool) -> Outcome {
    if world.containers.get(new.container).is_none() {
        return Err(Refusal::not_found("container"));
    }
    let now = world.local_now();
    let id = world.add_site(new, database, now);
    world.build_site(id);
    shown(world, id)
}

fn create(world: &mut World, rq: &Request<'_>) -> Outcome {
    let mut fields = Fields::json(rq.body)?;
    let mut new = common(&mut fields);
    new.engine = fields.required_one_of("engine", &ENGINES);
    new.engine_version = fields.text("engine_version").unwrap_or_default();
    let database = fields.text("dbms_type").is_some_and(|kind| !kind.is_empty());
    fields.text("db_version");
    fields.finish()?;
    build(world, new, database)
}

/// The engine of an image whose name does not begin with it.
fn engine_of(image: &str) -> &'static str {
    match image.split('_').next().unwrap_or(image) {
        "django" | "python" => "python",
        "rails" | "ruby" => "ruby",
        "asgi" => "asgi",
        "nodejs" => "nodejs",
        "exec" => "exec",
        "static" => "static",
        _ => "php",
    }
}

fn install(world: &mut World, rq: &Request<'_>) -> Outcome {
    let mut fields = Fields::json(rq.body)?;
    let mut new = common(&mut fields);
    let images: Vec<&str> = IMAGES.split(' ').collect();
    let image = fields.required_one_of("image", &images);
    fields.text("admin_email");
    fields.text("admin_password");
    fields.finish()?;
    new.engine = engine_of(&image).to_owned();
    build(world, new, image != "static")
}

/// Keeps a value that the request does not name.
fn keep<T>(slot: &mut T, new: Option<T>) {
    if let Some(new) = new {
        *slot = new;
    }
}

fn update(world: &mut World, rq: &Request<'_>, part: &str) -> Outcome {
    let id = named(&world.sites, part)?;
    let mut fields = Fields::json(rq.body)?;
    let force_https = fields.flag("force_https");
    let charset = fields.one_of("charset", &CHARSETS);
    let (main_alias, aliases) = (fields.text("main_alias"), fields.texts("aliases"));
    let certificate_id = fields.int_within("certificate_id", 0, i64::MAX);
    let (cron_mail, comment) = (fields.text("cron_mail"), fields.text("comment"));
    let cache_static = fields.int_within("cache_static", 0, i64::MAX);
    // Accepted and dropped, since no read shows it.
    fields.flag("foreigners_access_forbidden");
    fields.finish()?;
    if let Some(site) = world.sites.get_mut(id) {
        keep(&mut site.charset, charset);
        keep(&mut site.main_alias, main_alias);
        keep(&mut site.aliases, aliases);
        keep(&mut site.cron_mail, cron_mail);
        keep(&mut site.comment, comment);
        keep(&mut site.force_https, force_https);
        keep(&mut site.certificate_id, certificate_id);
        keep(&mut site.cache_static, cache_static);
    }
    world.work_on_site(id, "Updating");
    shown(world, id)
}

fn order_certificate(world: &mut World, part: &str) -> Outcome {
    let id = named(&world.sites, part)?;
    if let Some(site) = world.sites.get_mut(id) {
        // One a site; its number shows the site.
        site.certificate_id = 30_000 + i64::try_from(id).unwrap_or(0);
    }
    world.work_on_site(id, "Updating");
    shown(world, id)
}

fn engine_settings(world: &mut World, rq: &Request<'_>, part: &str) -> Outcome {
    let id = named(&world.sites, part)?;
    let mut fields = Fields::json(rq.body)?;
    let version = fields.has("engine_version").then(|| fields.required_text("engine_version"));
    let directives = fields.texts("engine_directives");
    // Accepted and dropped, since no read shows it.
    fields.text("engine_application");
    let workers = fields.int_within("num_workers", 1, 24);
    fields.finish()?;
    if let Some(site) = world.sites.get_mut(id) {
        keep(&mut site.num_workers, workers);
        keep(&mut site.engine_version, version);
        keep(&mut site.engine_directives, directives);
    }
    world.work_on_site(id, "Updating");
    shown(world, id)
}
