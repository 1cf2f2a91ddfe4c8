//! Containers, databases, sites and cron jobs (sections 4.1 to 4.4 of the interface), over plain HTTP: the
//! answers and their effects, as scripts (`support::play`).
#![allow(clippy::unwrap_used)]

use crate::support::play;

const EVERY_OPERATION_OF_CONTAINERS: &str = r#"
## list, by offset and limit [containers=25]
GET containers/ => 200 {"count": 25, "entities": 20, "entities/0/id": 301}
GET containers/?offset=20&limit=100 => 200 {"entities": 5, "entities/0/id": 321}
GET containers/?limit=0 => 400 !limit
GET containers/?limit=101 => 400 !limit
GET containers/?limit=x => 400 !limit
GET containers/?offset=-1 => 400 !offset

## create: four environments are known, reads show two
POST containers/ {"name": "new", "memory_limit": 512, "quota": 4096, "environment": 3, "redis": 64, "password": "secret", "create_packet": true} => 201 {"id": 304, "environment": 0, "redis": {"memory_limit": 64}, "password": "-"}
GET containers/304/ => 200 {"name": "new", "memory_limit": 512, "quota": 4096}
POST containers/ {"name": "", "quota": "4096", "environment": 4} => 400 !environment memory_limit name quota
GET containers/ => 200 {"count": 4}

## read
GET containers/301/ => 200 {"id": 301}
GET containers/999999/ => 404

## update, with 201 by section 7; what is not named stays
PUT containers/301/ {"name": "renamed", "quota": 777, "redis": null, "memcache": 32} => 201
GET containers/301/ => 200 {"name": "renamed", "quota": 777, "redis": {"enabled": false}, "memcache": {"memory_limit": 32}, "memory_limit": 256}
PUT containers/301/ {"quota": 0, "name": 5} => 400 !name quota

## delete, once it is empty
DELETE containers/301/ => 400
POST containers/ {"name": "new", "memory_limit": 512, "quota": 4096, "environment": 0} => 201 {"id": 304}
DELETE containers/304/ => 200
GET containers/304/ => 404
"#;

#[tokio::test]
async fn every_operation_of_containers() {
    play(EVERY_OPERATION_OF_CONTAINERS).await;
}

const EVERY_OPERATION_OF_DATABASES_AND_CRON_JOBS: &str = r#"
## set the password of a database account
PUT dbms/2001/set-password/ {"password": "s3cret"} => 200 {"id": 401}
PUT dbms/2001/set-password/ {} => 400 !password

## list databases
GET dbms/2001/databases/?limit=100 => 200 {"count": 1, "entities": [{"id": 401}]}
GET dbms/2001/databases/?limit=101 => 400

## create a database
POST dbms/databases/ {"virtualhost_id": 2001, "name": "orders", "charset": "utf8mb4"} => 200 {"id": "$made", "name": "orders"}
GET dbms/2001/databases/ => 200 {"entities": [{"id": 401}, {"id": "$made", "name": "orders"}]}
POST dbms/databases/ {"virtualhost_id": 1, "name": "x"} => 400 !charset virtualhost_id

## delete a database, which is shown once more
DELETE dbms/databases/401/ => 200 {"id": 401}
GET dbms/2001/databases/ => 200 {"count": 0}

## list cron jobs
GET sites/2001/cron/?limit=100 => 200 {"count": 1, "entities": [{"id": 901, "virtualhost_id": 2001}]}
GET sites/1/cron/ => 404

## create a cron job
POST cron/ {"virtualhost_id": 2001, "minutes": "*/5", "hours": "*", "days": "*", "months": "*", "weekdays": "1-5", "command": "true", "comment": "why"} => 200 {"weekdays": "1-5"}
GET sites/2001/cron/ => 200 {"count": 2}
POST cron/ {"virtualhost_id": 2001, "minutes": "*"} => 400 !command days hours months weekdays
POST cron/ {"virtualhost_id": 1, "minutes": "*", "hours": "*", "days": "*", "months": "*", "weekdays": "*", "command": "true"} => 404

## read a cron job
GET cron/901/ => 200 {"id": 901}
GET cron/1/ => 404

## update a cron job
PUT cron/901/ {"virtualhost_id": 2001, "minutes": "*", "hours": "3", "days": "*", "months": "*", "weekdays": "*", "command": "true", "comment": ""} => 200 {"hours": "3"}
PUT cron/901/ {"hours": "3"} => 400
PUT cron/1/ {"virtualhost_id": 2001, "minutes": "*", "hours": "3", "days": "*", "months": "*", "weekdays": "*", "command": "true", "comment": ""} => 404

## delete a cron job, which is shown once more
DELETE cron/901/ => 200 {"id": 901}
GET cron/901/ => 404
"#;

#[tokio::test]
async fn every_operation_of_databases_and_cron_jobs() {
    play(EVERY_OPERATION_OF_DATABASES_AND_CRON_JOBS).await;
}

const EVERY_OPERATION_OF_SITES: &str = r#"
## list those of a container [containers=1 sites=130]
GET of/301/virtualhosts/?offset=100&limit=100 => 200 {"count": 130, "entities": 30, "entities/0/container/id": 301}
GET of/1/virtualhosts/ => 404

## create
POST sites/ {"container_id": 301, "name": "new.example.com", "engine": "python", "charset": "utf-8", "aliases": ["a.example.com"], "dbms_type": "postgres", "engine_version": "3.12"} => 200 {"id": 2009, "state": "Building", "certificate_id": 0, "aliases": ["a.example.com"]}
seen sites/2009/ Building Active
GET dbms/2009/databases/ => 200 {"count": 1}
POST sites/ {"container_id": 301, "name": "x", "engine": "cobol", "charset": "latin-1"} => 400 !charset engine
POST sites/ {"container_id": 1, "name": "x", "engine": "php"} => 404

## create from an image
POST sites/install/ {"container_id": 301, "name": "i.example.com", "image": "django_postgres"} => 200 {"engine": "python"}
POST sites/install/ {"container_id": 301, "name": "i.example.com", "image": "wordpress"} => 200 {"engine": "php"}
POST sites/install/ {"container_id": 301, "name": "i.example.com", "image": "rails_mysql"} => 200 {"engine": "ruby"}
POST sites/install/ {"container_id": 301, "name": "i.example.com", "image": "static"} => 200 {"engine": "static"}
POST sites/install/ {"container_id": 301, "name": "x", "image": "plan9"} => 400 !image
POST sites/install/ {"container_id": 1, "name": "x", "image": "drupal"} => 404

## read
GET sites/2001/ => 200 {"id": 2001, "state": "Active"}
GET sites/1/ => 404

## update its settings
PUT sites/2001/ {"comment": "ours", "cache_static": 30, "charset": "windows-1251", "foreigners_access_forbidden": true} => 200 {"state": "Updating"}
seen sites/2001/ Updating Active
GET sites/2001/ => 200 {"comment": "ours", "cache_static": 30}
PUT sites/2001/ {"charset": "koi8-r", "aliases": "a"} => 400 !aliases charset

## restart, which starts a stopped one
PUT sites/2001/restart/ => 200 {"state": "Restarting"}
seen sites/2001/ Restarting Active
POST /_sim/set_site {"site": 2001, "state": "Stopped"} => 204
PUT sites/2001/restart/ => 200 {"state": "Starting"}

## delete
DELETE sites/2001/ => 200
GET sites/2001/ => 404
GET of/301/virtualhosts/?limit=1 => 200 {"entities": [{"id": 2002}]}
DELETE sites/2001/ => 404

## order a certificate
GET sites/2003/ => 200 {"certificate_id": 0}
PUT sites/2003/order-certificate/ => 200
GET sites/2003/ => 200 {"certificate_id": "+"}
PUT sites/1/order-certificate/ => 404

## list the versions of its engine
GET sites/2001/engine-versions/ => 200 {"versions/0": "*"}
GET sites/1/engine-versions/ => 404

## update the settings of its engine
PUT sites/2001/engine-settings/ {"engine_version": "8.2", "engine_directives": ["a=b"], "engine_application": "app", "num_workers": 24} => 200 {"num_workers": 24}
GET sites/2001/ => 200 {"engine_directives": ["a=b"]}
PUT sites/2001/engine-settings/ {"num_workers": 0} => 400 !num_workers
PUT sites/2001/engine-settings/ {"num_workers": 25} => 400 !num_workers
"#;

#[tokio::test]
async fn every_operation_of_sites() {
    play(EVERY_OPERATION_OF_SITES).await;
}
